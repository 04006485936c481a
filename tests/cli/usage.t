# Mistakes in the call: one line, exit code 2.
$ gopt
! gopt: a command is missing; see gopt --help
= 2
$ gopt inspekt x
! gopt: unknown command 'inspekt'; did you mean 'inspect'?
= 2
$ gopt inspect
! gopt: inspect: MODEL|MANIFEST|BUNDLE|STUDY is missing; see --help
= 2
$ gopt bench a --secnds 3
! gopt: --secnds: unknown option; did you mean --seconds?
= 2
$ gopt verify a --tolerance x
! gopt: --tolerance: 'x': REL[,ABS] expected, such as 1e-3 or 1e-3,1e-5
= 2
$ gopt verify a --pipeline default --preset debug
! gopt: --pipeline and --preset: only one of them can say which passes run
= 2
$ gopt verify a --pipeline fold_konst
! gopt: --pipeline: unknown pass 'fold_konst'; did you mean 'fold_const'?
= 2
$ gopt verify a --preset debgu
! gopt: --preset: ...'debgu'...
= 2
$ gopt compile a --set engine.threads=0 -o b
! gopt: a: No such file or directory
= 3
$ gopt compile a
! gopt: compile: -o BUNDLE is missing
= 2
$ gopt run a
! gopt: run: --output DIR is missing
= 2
$ gopt compile a -o b --threads 0
! gopt: --threads: at least 1 is needed
= 2
$ gopt compile a -o b --threads 4000
! gopt: --threads: 4000 is more than the number of processors, ...
! gopt: a: No such file or directory
= 3
$ gopt compile a -o b --set engine.threads=4000
! gopt: --set engine.threads: 4000 is more than the number of processors, ...
! gopt: a: No such file or directory
= 3
$ gopt bench a --seconds 0
! gopt: --seconds: more than 0 is needed
= 2
$ gopt check a --seconds 0
! gopt: --seconds: more than 0 is needed
= 2
$ gopt tune a
! gopt: unknown command 'tune'; it is a program: gopt-tune
= 2
$ gopt cache
! gopt: cache: ls|gc|why MODEL is missing; see --help
= 2
$ gopt cache lss
! gopt: unknown action 'lss'; did you mean 'ls'?
= 2
$ gopt cache why
! gopt: cache why: MODEL is missing
= 2
$ gopt --help
usage: gopt COMMAND [options] ...
...
  inspect       ...
...
$ gopt help bench
usage: gopt bench [options] MANIFEST|BUNDLE|MODEL
...
Examples:
...
$ gopt --version
gopt ...
# Every command explains itself.
$ for c in inspect compile trace run bench verify report check cache sample-model; do gopt $c --help | head -1; done
usage: gopt inspect [options] MODEL|MANIFEST|BUNDLE|STUDY
usage: gopt compile [options] MODEL
usage: gopt trace [options] MODEL
usage: gopt run [options] MANIFEST|BUNDLE|MODEL
usage: gopt bench [options] MANIFEST|BUNDLE|MODEL
usage: gopt verify [options] MODEL|CASE_DIR|MANIFEST|BUNDLE ...
usage: gopt report [options] OUT
usage: gopt check [options] MANIFEST
usage: gopt cache [options] ls|gc|why MODEL
usage: gopt sample-model [options] FILE
$ gopt-tune a --precision f16,i8
! gopt-tune: --precision: weights: "i8" is none of f32, f16, bf16, int8
= 2
$ gopt-tune a --max-memory 0
! gopt-tune: --max-memory: '0': a size of a byte to 4 PiB, such as 512M or 2G, expected, or none for no limit
= 2
$ gopt report a --max-memory 0
! gopt: --max-memory: '0': a size of a byte to 4 PiB, such as 512M or 2G, expected, or none for no limit
= 2
$ gopt inspect a --headroom 0
! gopt: --headroom: '0': a size above 0, such as 512M or 2G, expected
= 2
$ gopt inspect a --headroom none
! gopt: --headroom: 'none': a size above 0, such as 512M or 2G, expected
= 2
$ gopt-tune a --max-memory -1
! gopt-tune: --max-memory: '-1': a size of a byte to 4 PiB, such as 512M or 2G, expected, or none for no limit
= 2
$ gopt report a --max-memory -1
! gopt: --max-memory: '-1': a size of a byte to 4 PiB, such as 512M or 2G, expected, or none for no limit
= 2
$ gopt-tune a --max-memory nan
! gopt-tune: --max-memory: 'nan': a size of a byte to 4 PiB, such as 512M or 2G, expected, or none for no limit
= 2
$ gopt report a --max-memory nan
! gopt: --max-memory: 'nan': a size of a byte to 4 PiB, such as 512M or 2G, expected, or none for no limit
= 2
$ gopt-tune a --max-compile 0s
! gopt-tune: --max-compile: '0s': a duration of 1ns to a year, such as 20ms or 90s, expected, or none for no limit
= 2
$ gopt report a --max-compile 0s
! gopt: --max-compile: '0s': a duration of 1ns to a year, such as 20ms or 90s, expected, or none for no limit
= 2
$ gopt-tune a --max-latency 0
! gopt-tune: --max-latency: '0': a duration of 1ns to a year, such as 20ms or 90s, expected, or none for no limit
= 2
$ gopt report a --max-latency 0
! gopt: --max-latency: '0': a duration of 1ns to a year, such as 20ms or 90s, expected, or none for no limit
= 2
$ gopt-tune a --max-latency -20ms
! gopt-tune: --max-latency: '-20ms': a duration of 1ns to a year, such as 20ms or 90s, expected, or none for no limit
= 2
$ gopt report a --max-latency -20ms
! gopt: --max-latency: '-20ms': a duration of 1ns to a year, such as 20ms or 90s, expected, or none for no limit
= 2
$ gopt-tune -q a --max-memory none --max-compile none --max-latency none
! gopt-tune: a: No such file or directory
= 3
