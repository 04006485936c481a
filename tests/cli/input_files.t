# What cannot be used says so in one line that names it, exit code 3.
$ gopt inspect absent.onnx
! gopt: absent.onnx: No such file or directory
= 3
$ : > empty.onnx; gopt inspect empty.onnx
! gopt: empty.onnx: ...
= 3
$ printf 'GOPTBNDL' > cut.gopt; gopt inspect cut.gopt
! gopt: cut.gopt: not a gopt bundle
= 3
$ printf 'gopt_manifest: 1\n' > cut.yaml; gopt inspect cut.yaml
! gopt: cut.yaml: line 1: the key 'tool_version' is missing
= 3
$ printf 'gopt_manifest: 1\n\t[' > odd.yaml; gopt inspect odd.yaml
! gopt: odd.yaml: line 2: not YAML: ...
= 3
$ printf '{\ngopt_manifest: 1\n' > odd.yaml; gopt inspect odd.yaml
! gopt: odd.yaml: line ...: not YAML: ...
= 3
$ gopt bench odd.yaml
! gopt: odd.yaml: line ...: not YAML: ...
= 3
$ printf '# edited\n---\ngopt_manifest: 1\na: "open\n' > renamed; gopt inspect renamed; rm renamed
! gopt: renamed: line ...: not YAML: ...
$ printf 'SQLite format 3 but nothing else' > cut.db; gopt inspect cut.db
! gopt: ...cut.db...
= 3
$ mkdir folder; gopt inspect folder
! gopt: folder: a folder with neither model.onnx nor results of gopt-tune in it
= 3
$ gopt bench cut.db
! gopt: cut.db: a study holds nothing that runs
= 3
$ gopt compile cut.yaml -o x
! gopt: cut.yaml: a manifest, an ONNX model expected
= 3
$ gopt check cut.db
! gopt: cut.db: not a manifest
= 3
$ gopt report cut.yaml
! gopt: cut.yaml: give the folder that it lies in
= 3
$ gopt verify absent.onnx
! gopt: absent.onnx: No such file or directory
= 3
$ gopt verify cut.gopt
FAIL cut.gopt: cannot be used
0 passed, 1 failed, 0 skipped
! gopt: cut.gopt: a bundle does not name its model; give it: --model MODEL
= 3
$ printf 'hello\n' > text.onnx; gopt inspect text.onnx
! gopt: text.onnx: not an ONNX model: byte ...
= 3
$ printf '{"a": 1}' > text.onnx; gopt inspect text.onnx
! gopt: text.onnx: not an ONNX model: byte 0, ...
= 3
$ { printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"; head -c 8 /dev/zero; } > x.npy; gopt inspect x.npy
! gopt: x.npy: not an ONNX model but a tensor, float32[2]
= 3
$ rm text.onnx x.npy
$ gopt verify absent.onnx cut.db
FAIL absent.onnx: cannot be used
FAIL cut.db: a study holds nothing that runs; give its manifest
0 passed, 2 failed, 0 skipped
! gopt: absent.onnx: No such file or directory
= 3
$ gopt run absent.onnx --input x=nowhere.npy --output out
! gopt: absent.onnx: --input: nowhere.npy: no such file; NAME=FILE expected
= 3
$ ls
cut.db
cut.gopt
cut.yaml
empty.onnx
folder
odd.yaml
