# Models whose shapes only a run knows.
# An If with the weights in its bodies: one count of steps and one of memory, whoever tells them; no prediction.
$ echo CAgSADrYAwqKAwoBYxIGb3V0cHV0IgJJZirIAQoLZWxzZV9icmFuY2gytQEKZBICZnciCENvbnN0YW50KlQKBXZhbHVlKkgIBAgEEAFKQAAAgD8AAIA/AACAPwAAgD8AAIA/AACAPwAAgD8AAIA/AACAPwAAgD8AAIA/AACAPwAAgD8AAIA/AACAPwAAgD+gAQQKDQoBeBICZnIiBFJlbHUKFAoCZnIKAmZ3EgJmeSIGTWF0TXVsChkKAmZ5CgR6ZXJvEgJmeiIJVW5zcXVlZXplEgFmYgoKAmZ6EgQKAggBoAEFKq0BCgt0aGVuX2JyYW5jaDKaAQpkEgJ0dyIIQ29uc3RhbnQqVAoFdmFsdWUqSAgECAQQAUpAAACAPwAAgD8AAIA/AACAPwAAgD8AAIA/AACAPwAAgD8AAIA/AACAPwAAgD8AAIA/AACAPwAAgD8AAIA/AACAP6ABBAoNCgF4EgJ0ciIEUmVsdQoUCgJ0cgoCdHcSAnR5IgZNYXRNdWwSAXRiCgoCdHkSBAoCCAGgAQUSAWcqFAgBEAdCBHplcm9KCAAAAAAAAAAAWhMKAXgSDgoMCAESCAoCCAQKAggEWgsKAWMSBgoECAkSAGIOCgZvdXRwdXQSBAoCCAFCBAoAEA0= | base64 -d > branches.onnx
$ gopt inspect branches.onnx | grep parameters
  parameters     136 B
$ gopt compile branches.onnx -o branches.gopt --pipeline none | grep -E 'steps|activations'
  steps       6: 5 native, 0 generated, 1 reference
  memory      weights ..., activations 320 B and those of 1 value, known only at run time
$ gopt inspect branches.gopt | grep -E 'steps|activations'
  steps          6
  activations    320 B and those of 1 value, known only at run time
$ gopt inspect branches.gopt --json | grep -E '"(steps|arena|late_values)"'
	"steps":	6,
	"arena":	320,
	"late_values":	1,
$ gopt inspect branches.gopt | grep -A1 outputs
outputs:
  output float32[...]
$ gopt inspect branches.gopt --json | grep -A1 '"output"' | tail -1
			"dtype":	"float32",
$ gopt trace branches.onnx --pipeline none --seconds 0.01 | tail -3
as imported                 ... 320 B        n/a ...
predicted is n/a where steps run bodies of If, Loop or Scan or have shapes known only at run time, which no cost
model of a kernel covers: 1 step here
$ gopt trace branches.onnx --pipeline none --seconds 0.01 --json | grep predicted
			"predicted":	null,
			"unpredicted":	1,
# Reshaped to as many rows as an input says, 256 by what it is compared with: only 512 elements are enough, and only a
# run can know.
$ echo CAgSADroAQoTCgFuCgRyb3dzEgFlIgVFcXVhbAoXCgFuCgR6ZXJvEgFzIglVbnNxdWVlemUKIAoBcwoDdHdvEgF0IgZDb25jYXQqCwoEYXhpcxgAoAECChYKAXgKAXQSBWlucHV0IgdSZXNoYXBlEgFnKhIQB0IEcm93c0oIAAEAAAAAAAAqFAgBEAdCBHplcm9KCAAAAAAAAAAAKhMIARAHQgN0d29KCAIAAAAAAAAAWhMKAXgSDgoMCAESCAoGEgRzaXplWgsKAW4SBgoECAcSAGINCgVpbnB1dBIECgIIAWILCgFlEgYKBAgJEgBCBAoAEA0= | base64 -d > late.onnx
$ gopt inspect late.onnx | grep symbolic
symbolic dimensions: size; below with size=512, choose with --shape
$ gopt trace late.onnx --pipeline none --seconds 0.01 | head -1
size=512 (choose with --shape)
# A sum with six elements: no length that is tried fits.
$ echo CAgSADpeCg4KAXgKAXcSAXkiA0FkZBIBZyohCAYQAUIBd0oYAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWhsKAXgSFgoUCAESEAoHEgViYXRjaAoFEgNzZXFiCQoBeRIECgIIAUIECgAQDQ== | base64 -d > six.onnx
$ gopt bench six.onnx
! gopt: six.onnx: node Add_0 (Add): shapes [1,32] and [6] do not broadcast; no size tried for seq fits: choose with --shape
= 3
$ gopt trace six.onnx
! gopt: six.onnx: node Add_0 (Add): shapes [1,32] and [6] do not broadcast; no size tried for seq fits: choose with --shape
= 3
$ gopt verify six.onnx
FAIL six.onnx: cannot be used
0 passed, 1 failed, 0 skipped
! gopt: six.onnx: node Add_0 (Add): shapes [1,32] and [6] do not broadcast; no size tried for seq fits: choose with --shape
= 3
$ gopt cache why six.onnx
! gopt: six.onnx: node Add_0 (Add): shapes [1,32] and [6] do not broadcast; no size tried for seq fits: choose with --shape
= 3
$ gopt compile six.onnx -o six.gopt
! gopt: six.onnx: the model has symbolic dimensions; say all of --shape batch=N,seq=N
= 2
$ gopt compile six.onnx -o six.gopt --shape sequence=6
! gopt: six.onnx: --shape: unknown dimension 'sequence'; ...
= 2
$ gopt compile six.onnx -o six.gopt --shape batch=2,seq=6 > /dev/null
# Alone, a bundle knows nothing of the values that its model can take: inputs may be refused, and what helps is said.
$ gopt compile late.onnx -o late.gopt --shape size=512 > /dev/null
$ gopt bench late.gopt --seconds 0.05
! gopt: late.gopt: with inputs made up from types and shapes alone (give --model MODEL): node Reshape_3 (Reshape): ...
= 3
$ gopt bench late.gopt --model late.onnx --seconds 0.05 | grep inputs
  inputs      made up from the model
$ gopt bench late.gopt --model gone.onnx --seconds 0.05
! gopt: late.gopt: --model: gone.onnx: No such file or directory
= 3
$ gopt bench late.gopt --against late.gopt --seconds 0.05
! gopt: late.gopt: with inputs made up from types and shapes alone (give --model MODEL): node Reshape_3 (Reshape): ...
= 3
$ gopt bench late.gopt --against late.onnx --pipeline none --seconds 0.05 > both; case $? in 0|1) grep inputs both;; esac
  inputs      made up from the model
  inputs      made up from the model
# One whose rank is declared against one whose rank only a run knows: what was really there is compared.
$ echo CAgSADpSChEKAXgSBm91dHB1dCIEUmVsdRIBZ1oTCgF4Eg4KDAgBEggKAggECgIIBFoLCgFjEgYKBAgJEgBiGAoGb3V0cHV0Eg4KDAgBEggKAggECgIIBEIECgAQDQ== | base64 -d > ranked.onnx
$ gopt bench ranked.onnx --against branches.onnx --seconds 0.05
! gopt: --against: output "output" is float32[4,4] here and float32[?,?,?] there; different models
= 2
$ echo CAgSADp3ChwKAXgKBHplcm8SBm91dHB1dCIJVW5zcXVlZXplEgFnKhQIARAHQgR6ZXJvSggAAAAAAAAAAFoTCgF4Eg4KDAgBEggKAggECgIIBFoLCgFjEgYKBAgJEgBiHAoGb3V0cHV0EhIKEAgBEgwKAggBCgIIBAoCCARCBAoAEA0= | base64 -d > wide.onnx
$ gopt bench wide.onnx --against branches.onnx --seconds 0.05 > both; case $? in 0|1) grep -c latency both;; esac
2
$ gopt bench late.gopt --model late.onnx --against late.onnx --shape size=600 --seconds 0.05
! gopt: late.gopt: --against late.onnx: node Reshape_3 (Reshape): input shape: 600 elements cannot become 512
= 3
