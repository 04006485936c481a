# What a deployment is made of may be damaged, moved, or asked for what it cannot do. The objective makes the choice
# another bundle than the fallback.
$ gopt sample-model s.onnx
s.onnx: ... nodes
$ gopt-tune --budget 4s --progress none --objective compile --out s.gopt s.onnx > /dev/null
$ grep gopt-tune s.gopt/report.txt
    gopt-tune --budget 4s --seed 1 --objective compile --out /...s.gopt /...s.onnx
$ grep 'every candidate' s.gopt/report.txt
Note: every candidate was verified on ... before it was timed (random...
$ grep '^    gopt' s.gopt/report.txt | sed 1d
    gopt bench /.../s.gopt/manifest.yaml
    gopt verify /.../s.gopt/manifest.yaml
    gopt check /.../s.gopt/manifest.yaml --measure
    gopt report /.../s.gopt --objective compile --alpha 0.001 --requests 10000
# They are ready to paste, in any folder.
$ mkdir elsewhere && cd elsewhere && sh -c "$(grep '^    gopt verify' ../s.gopt/report.txt)" | tail -1
1 passed, 0 failed, 0 skipped
$ grep -c -e '^ *bundles$' -e '^ *plots$' s.gopt/report.txt
2
$ { printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 64, 128), }"; head -c 32768 /dev/zero; } > x.npy
$ { printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 64, 128), }"; head -c 65536 /dev/zero; } > two.npy
$ gopt bench s.gopt --seconds 0.05 | head -1
s.gopt: chosen, bundles/trial-...gopt
$ gopt run s.gopt --input two.npy --output out
! gopt: ...input "x": float32[1,64,128] expected, got float32[2,64,128]; an engine is made for its shapes: tune or compile with --shape
= 3
# A manifest in a few lines; every knob with -v. The fallback is every pass, no knob.
$ gopt inspect s.gopt | sed -n '/fallback/,$p'
  fallback: trial 1, ...
    bundle bundles/trial-1.gopt, content ...
    passes on (...): inline_if, fuse_qdq, ...
...
$ gopt inspect s.gopt | grep -e 'pass[.]' -e 'engine.threads'
= 1
$ gopt inspect s.gopt -v | sed -n '/fallback/,$p' | grep -e 'pass.fold_const' -e engine.threads
    pass.fold_const = on
    engine.threads = ...
# How to compile says nothing to what is compiled.
$ gopt bench s.gopt --pipeline none
! gopt: --pipeline: s.gopt is compiled already, which fixes it; give the model
= 2
$ gopt bench s.gopt --shape batch=2 --against s.gopt/bundles/trial-1.gopt
! gopt: --shape: s.gopt is compiled already, which fixes it; give the model
= 2
$ gopt run s.gopt --set engine.threads=1 --input x.npy --output out
! gopt: --set: s.gopt is compiled already, which fixes it; give the model
= 2
$ gopt verify s.gopt --preset debug
! gopt: --preset: s.gopt is compiled already, which fixes it; give the model
= 2
# A bundle's model is known while its manifest is where it was written.
$ gopt verify s.gopt/bundles/trial-1.gopt
PASS s.gopt/bundles/trial-1.gopt: ...
1 passed, 0 failed, 0 skipped
$ cp s.gopt/bundles/trial-1.gopt alone.gopt; gopt verify alone.gopt --model s.onnx
PASS alone.gopt: ...
1 passed, 0 failed, 0 skipped
# The chosen bundle is damaged, then gone: the fallback serves and everybody is told.
$ sed -n '/chosen:/,/fallback:/s/^ *bundle: *//p' s.gopt/manifest.yaml > chosen; printf x >> s.gopt/$(cat chosen)
$ gopt bench s.gopt --seconds 0.05 | head -1
s.gopt: fallback, bundles/trial-1.gopt
! gopt: s.gopt/manifest.yaml: s.gopt/bundles/trial-...gopt: ...; the fallback serves
$ gopt run s.gopt --input x.npy --output out
out/output_0.pb y float32[1,64,128]
! gopt: s.gopt/manifest.yaml: s.gopt/bundles/trial-...gopt: ...; the fallback serves
$ gopt verify s.gopt
FAIL s.gopt/manifest.yaml: s.gopt/bundles/trial-...gopt: ...; the fallback serves
0 passed, 1 failed, 0 skipped
= 1
$ rm s.gopt/$(cat chosen); gopt verify s.gopt
FAIL s.gopt/manifest.yaml: s.gopt/bundles/trial-...gopt: no such file; bundles/ must lie beside its manifest; the fallback serves
0 passed, 1 failed, 0 skipped
= 1
$ cp s.gopt/manifest.yaml solo.yaml; gopt bench solo.yaml
! gopt: solo.yaml: bundles/trial-...gopt: no such file; bundles/ must lie beside its manifest
= 3
# A model that cannot be looked at has not been found unchanged.
$ gopt-tune --budget 2s --progress none --baseline s.gopt --out t.gopt s.onnx > /dev/null; grep -c '"against".*s.gopt/manifest.yaml"' t.gopt/findings.json
1
$ mv s.onnx moved.onnx; gopt check t.gopt
model     unknown    .../s.onnx: No such file or directory; give --model
...
no drift seen, but not all could be looked at
! gopt: t.gopt: .../s.onnx: No such file or directory; give --model
= 3
# Data beside a model are used, however the model is called, unless inputs are asked for.
$ mkdir -p lone/test_data_set_0; cp moved.onnx lone/m.onnx; gopt run moved.onnx --input x.npy --output lone/test_data_set_0 > /dev/null
$ gopt verify lone/m.onnx
FAIL lone/test_data_set_0: cannot be used
0 passed, 1 failed, 0 skipped
! gopt: lone/m.onnx: lone/test_data_set_0: input "x": no input_K.pb has this name or position
= 3
$ gopt verify lone/m.onnx --inputs random
PASS lone/m.onnx: ...
1 passed, 0 failed, 0 skipped
