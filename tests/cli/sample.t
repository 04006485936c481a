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
# One number is of the largest value, as the error that is told.
$ gopt verify s.onnx --tolerance 1e-12
FAIL s.onnx: output 0: element ...: ... expected (tolerance ...e-12)
0 passed, 1 failed, 0 skipped
= 1
$ gopt verify s.onnx --tolerance 1e-4
PASS s.onnx: largest error ..., ... of the largest value
1 passed, 0 failed, 0 skipped
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
# A model of integers alone: inputs that are no numbers, or large ones, are not to be had.
$ echo CAg6QwoSCgNpZHMKA2lkcxIBeSIDQWRkEgFnWhUKA2lkcxIOCgwIBxIICgIIAgoCCARiEwoBeRIOCgwIBxIICgIIAgoCCARCBAoAEBA= | base64 -d > ids.onnx
$ gopt verify ids.onnx --inputs nan
SKIP ids.onnx: --inputs nan does not apply: no input of the model is a float
0 passed, 0 failed, 1 skipped
$ gopt verify ids.onnx --inputs zeros
PASS ids.onnx: ...
1 passed, 0 failed, 0 skipped
$ gopt compile ids.onnx -o ids.gopt > /dev/null; gopt verify ids.gopt --model ids.onnx --inputs large; rm ids.onnx ids.gopt
SKIP ids.gopt: --inputs large does not apply: no input of the model is a float
0 passed, 0 failed, 1 skipped
# A constant that is a node in the file is none after import.
$ echo CAg6ZAolEgFjIghDb25zdGFudCoWCgV2YWx1ZSoKCAEQAUoEAAAAQKABBAoOCgF4CgFjEgF5IgNNdWwSAWdaEwoBeBIOCgwIARIICgIIAgoCCARiEwoBeRIOCgwIARIICgIIAgoCCARCBAoAEBA= | base64 -d > twice.onnx
$ gopt inspect twice.onnx | grep nodes
  nodes          2 in the file, 1 after import
  operator  nodes  native  reference
$ gopt inspect twice.onnx --json | grep '"nodes'
	"nodes":	2,
	"nodes_imported":	1,
$ gopt trace twice.onnx --pipeline none --seconds 0.01; rm twice.onnx
2 nodes in the file, 1 after import
after pass              nodes  steps ...
as imported                 1      1 ...
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
