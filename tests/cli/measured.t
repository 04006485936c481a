# Commands that take time, for as short a time as they allow.
$ gopt sample-model s.onnx
s.onnx: ... nodes
$ gopt bench s.onnx --preset reduce-overhead --seconds 0.05
s.onnx
  latency     median ... [...], mean ..., of ... samples of ... inference...
  percentiles p50 ..., p90 ..., p95 ..., p99 ..., of ... single inferences
  throughput  ... inferences per second of one session
  memory      peak ...: weights ..., activations ..., workspace ..., runtime ...
  inputs      made up from the model
...
$ gopt compile s.onnx -o s.gopt --preset reduce-overhead > /dev/null
$ gopt bench s.gopt --seconds 0.05 --json
{
	"path":	"s.gopt",
	"shape":	"",
	"serves":	null,
	"latency":	{
		"median":	...,
...
		"single_inferences":	...
	},
...
	"inputs_from":	"types and shapes",
	"rounds":	...,
	"busy_share":	...
}
# A compiled one is opened like what is deployed, and both get the inputs of the one that knows its model.
$ gopt bench s.gopt --against s.onnx --pipeline none --seconds 0.2 --json | grep -c '"inputs_from":.*the model'
2
$ gopt bench s.gopt --against s.onnx --pipeline none --seconds 0.2 | grep -v busy
s.gopt
...
against s.onnx
...
speedup ... [...] over ... rounds: ...noise floor ...%...
# One model in two configurations; twice the same.
$ gopt bench s.onnx --against-pipeline none --seconds 0.2 --json | grep -e '"path"' -e different -e '"same' -e '"least"'
	"path":	"s.onnx",
		"path":	"s.onnx",
		"least":	...
	"different_models":	false,
	"same_engine":	false
$ gopt bench s.onnx --pipeline none --against s.onnx --seconds 0.1 | grep same
both are the same engine: what is seen between them is noise
$ gopt bench s.onnx --preset reduce-overhead --against s.gopt --seconds 0.1 -v | grep -e same -e anew -e independent
              the interval counts the samples as ... independent ones
              the interval counts the samples as ... independent ones
both were opened anew ... times, which the interval is of
both are the same engine: what is seen between them is noise
$ gopt bench s.onnx --pipeline none --against s.onnx --against-preset reduce-overhead --seconds 0.1 | grep -c same
0
= 1
$ gopt bench s.onnx --against-threads 1 --threads 1 --seconds 0.1 | grep -c same
1
$ gopt bench s.onnx --against s.gopt --against-pipeline none
! gopt: --against-pipeline: s.gopt is compiled already, which fixes it; give the model
= 2
$ gopt bench s.onnx --against-pipeline nome
! gopt: --against-pipeline: unknown pass 'nome'; ...
= 2
# Too short to be timed alone, but in builds that are slow: no percentile is made up from means.
$ echo CAg6ZAolEgFjIghDb25zdGFudCoWCgV2YWx1ZSoKCAEQAUoEAAAAQKABBAoOCgF4CgFjEgF5IgNNdWwSAWdaEwoBeBIOCgwIARIICgIIAgoCCARiEwoBeRIOCgwIARIICgIIAgoCCARCBAoAEBA= | base64 -d > twice.onnx
$ gopt bench twice.onnx --threads 1 --seconds 0.05 | grep -c percentiles
1
$ gopt bench twice.onnx --threads 1 --seconds 0.05 --json | tr '\t' ' ' | awk '/"p50"/ { none = /null/ } /single_inf/ { zero = /: 0/ } END { print none == zero }'
1
$ gopt trace s.onnx --pipeline fold_const,fuse_chain,drop_dead --seconds 0.01
after pass              nodes  steps ...
as imported ...
fold_const ...
fuse_chain ...
drop_dead ...
$ gopt trace s.onnx --pipeline none --seconds 0.01 --json
{
	"shape":	"",
	"nodes_in_file":	...,
	"steps":	[{
			"pass":	null,
...
			"measured":	true
		}]
}
# An If with a node in each body: three kernels.
$ echo CAgSADqtAQp5CgFjEgF5IgJJZio0CgtlbHNlX2JyYW5jaDIiCgwKAXgSAWUiBFJlbHUSAWJiDwoBZRIKCggIARIECgIIBKABBSo3Cgt0aGVuX2JyYW5jaDIlCg8KAXgSAWEiB1NvZnRtYXgSAWJiDwoBYRIKCggIARIECgIIBKABBRIBZ1oLCgFjEgYKBAgJEgBaDwoBeBIKCggIARIECgIIBGIPCgF5EgoKCAgBEgQKAggEQgQKABAN | base64 -d > if.onnx
$ gopt trace if.onnx --pipeline none --seconds 0.01 --json | grep kernels_after
			"kernels_after":	3,
# Tensors from files: a numpy array of zeros.
$ { printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 64, 128), }"; head -c 32768 /dev/zero; } > x.npy
$ gopt run s.gopt --input x=x.npy --output out
out/output_0.pb y float32[1,64,128]
$ gopt run s.onnx --pipeline none --input x.npy --output out --format npy
out/output_0.npy y float32[1,64,128]
# What was written is what was computed: as a data set it verifies.
$ mkdir -p case/test_data_set_0 && cp s.onnx case/model.onnx && cp out/output_0.pb case/test_data_set_0/ && gopt run s.gopt --input x=x.npy --output again && cmp again/output_0.pb out/output_0.pb
again/output_0.pb y float32[1,64,128]
$ gopt verify case
FAIL case/test_data_set_0: cannot be used
0 passed, 1 failed, 0 skipped
! gopt: case/test_data_set_0: input "x": no input_K.pb has this name or position
= 3
$ gopt run s.gopt --input y=x.npy --output out
! gopt: --input: unknown input 'y'; did you mean 'x'?
= 2
$ gopt run s.gopt --input x=x.npy --input x=x.npy --output out
! gopt: --input: input "x" is given twice
= 2
