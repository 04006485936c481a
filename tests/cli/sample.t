# The sample model through every command that measures nothing.
$ gopt sample-model s.onnx
s.onnx: ... nodes
$ gopt inspect s.onnx
s.onnx: model
  sha256         ...
  producer       gopt
...
inputs:
  x float32[1,64,128]
outputs:
  y float32[1,64,128]
operators:
...
coverage: ... native, 0 reference, 0 unsupported
memory without optimization: ...
$ gopt inspect s.onnx --shape batch=2
! gopt: s.onnx: --shape: batch: the model has no symbolic dimensions
= 2
$ gopt verify s.onnx
PASS s.onnx: largest error ...
1 passed, 0 failed, 0 skipped
$ gopt verify s.onnx --pipeline none --json
{
...
			"result":	"pass",
...
	"passed":	1,
	"failed":	0,
	"skipped":	0
}
$ gopt verify s.onnx --tolerance 0,0
FAIL s.onnx: output 0: element ...: ... expected (tolerance 0)
0 passed, 1 failed, 0 skipped
= 1
$ gopt compile s.onnx -o s.gopt --preset reduce-overhead --threads 1
s.gopt: ..., content ...
  steps       ...: ... native, 0 generated, 0 reference
...
$ gopt inspect s.gopt -v
s.gopt: bundle
  content        ...
...
  threads        1
...
inputs:
  x float32[1,64,128]
outputs:
  y float32[1,64,128]
kernels:
...
steps in order:
...
# A bundle does not say what it was made from.
$ gopt verify s.gopt
FAIL s.gopt: cannot be used
0 passed, 1 failed, 0 skipped
! gopt: s.gopt: a bundle does not name its model; give it: --model MODEL
= 3
$ gopt verify s.gopt --model s.onnx
PASS s.gopt: largest error ...
1 passed, 0 failed, 0 skipped
$ gopt run s.gopt --output out
! gopt: input "x" is missing: --input x=FILE
= 2
$ ls
s.gopt
s.onnx
