# The largest batch that fits: found by search, verified by a run.
$ echo CAg6YQoLCgF4EgFhIgNFeHAKCwoBYRIBYiIDTmVnCgwKAWISAXkiBFRhbmgSAWdaGQoBeBIUChIIARIOCgcSBWJhdGNoCgMIgAhiGQoBeRIUChIIARIOCgcSBWJhdGNoCgMIgAhCBAoAEA0= | base64 -d > chain.onnx
$ gopt inspect chain.onnx --headroom 1M | tail -3
largest batch in 1.00 MiB, with one thread:
  without optimization             84 (... KiB, has run within the limit); 85 needs at least ... more
  all passes, precompiled kernels  25... (... KiB, has run within the limit); ... needs at least ... more
$ gopt inspect chain.onnx --headroom 100 | tail -2
  without optimization             none; 1 needs at least ... KiB more
  all passes, precompiled kernels  none; 1 needs at least ... KiB more
$ gopt inspect chain.onnx --headroom 1M --json | grep -A5 baseline
		"baseline":	{
			"largest":	84,
			"peak":	...,
			"above":	85,
			"peak_above":	...,
			"ran":	true,
# An index of 100 is refused by a run only, below 101 columns.
$ echo CAg6dgoqCgF4CgFpCgF1EgF5Ig9TY2F0dGVyRWxlbWVudHMqCwoEYXhpcxgBoAECEgFnKgwIAQgBEAc6AWRCAWkqDwgBCAEQASIEAAAAAEIBdVobCgF4EhYKFAgBEhAKBxIFYmF0Y2gKBRIDc2VxYgkKAXkSBAoCCAFCBAoAEA0= | base64 -d > scatter.onnx
$ gopt inspect scatter.onnx --headroom 1M | grep -E 'below|largest'
symbolic dimensions: batch, seq; below with batch=1,seq=32, choose with --shape
largest batch in 1.00 MiB, with one thread and seq=128 (not as above, where it does not run):
$ gopt inspect scatter.onnx --headroom 1M --shape batch=7,seq=128 | grep largest
largest batch in 1.00 MiB, with one thread:
$ gopt sample-model s.onnx
s.onnx: ... nodes
$ gopt inspect s.onnx --headroom 1G | tail -1
largest batch in 1.00 GiB, with one thread: the model has no batch dimension
$ gopt compile s.onnx -o s.gopt --preset debug
...
$ gopt inspect s.gopt --headroom 1G
! gopt: --headroom: a model is needed, and s.gopt is none
= 2
