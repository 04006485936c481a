# The compile cache: empty, filled, asked, emptied.
$ gopt sample-model s.onnx
s.onnx: ... nodes
$ gopt cache ls
.../cache/gopt: 0 units, 0 functions, 0 B, 0 ns of compiling
$ gopt cache why s.onnx
4 functions  code: ...: never compiled here, or removed since
  ...  ... of node ...
  ...  ... of node ...
  ...  ... of node ...
  ...  ... of node ...
0 of ... generated functions are in the cache
$ gopt compile s.onnx -o s.gopt | grep generated
  steps       ...: ... native, ... generated, 0 reference
$ gopt cache why s.onnx
... of ... generated functions are in the cache
$ gopt cache why s.onnx --set codegen.opt_level=1
4 functions  level: the compiler's optimization level: knob codegen.opt_level: now '-O1', stored '-O...'
  ...  ... of node ...
  ...  ... of node ...
  ...  ... of node ...
  ...  ... of node ...
0 of ... generated functions are in the cache
$ rm $XDG_CACHE_HOME/gopt/code/*.fn; gopt cache why s.onnx
4 functions  entry: was there and is damaged or was removed
...
0 of ... generated functions are in the cache
$ gopt compile s.onnx -o s.gopt > /dev/null; gopt cache ls
...KiB  just used  ...  compiled in ...  matmul_f32_gen...
...
.../cache/gopt: ... unit..., 4 functions, ..., ... of compiling
$ gopt cache ls -v | grep -c '^  *[0-9a-f]*[.]so$' > files; gopt cache ls | grep -c matmul_f32_gen | cmp - files
$ gopt cache ls --json | grep -A1 '"kernels"' | head -2
			"kernels":	{
				"matmul_f32_gen":	...
# What another version wrote need not say what it is for.
$ sed -i /^kernel/d $XDG_CACHE_HOME/gopt/code/*.keys; gopt cache ls | grep -c 'of a kernel that was not noted' | cmp - files
# Nothing is old enough; then everything goes, with what a killed process left.
$ mkdir -p $XDG_CACHE_HOME/gopt/scratch/999999999/cc-x; gopt cache gc
0 units removed, 0 B freed, ... left
$ ls $XDG_CACHE_HOME/gopt/scratch
$ gopt cache gc --max-size 0
... units removed, ... freed, 0 B left
$ ls $XDG_CACHE_HOME/gopt/code
$ gopt cache ls --json
{
	"dir":	"...",
	"bytes":	0,
	"units":	[]
}
