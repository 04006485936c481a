"""The models that export_graphs writes, as modules of PyTorch: MODELS is their table. Sizes are those of the published
models; weights come later, from whatever file is benchmarked."""
import torch
from torch import nn


class Only(nn.Module):
    """A model of transformers, called with the inputs it is exported with, in order; gives its first output."""

    def __init__(self, model, *names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs):
        return self.model(**dict(zip(self.names, inputs)), return_dict=False)[0]


class WithPast(nn.Module):
    """A decoder that takes and returns the keys and values of every layer; given none it begins a text."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, *past):
        from transformers import DynamicCache

        cache = DynamicCache()
        for k in range(len(past) // 2):
            cache.update(past[2 * k], past[2 * k + 1], k)
        done = self.model(input_ids=input_ids, past_key_values=cache, use_cache=True)
        present = [t for layer in done.past_key_values.layers for t in (layer.keys, layer.values)]
        return done.logits, *present


class Attention(nn.Module):
    def __init__(self, features, context, heads):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(features, features, bias=False)
        self.k = nn.Linear(context, features, bias=False)
        self.v = nn.Linear(context, features, bias=False)
        self.out = nn.Linear(features, features)

    def forward(self, x, context):
        q, k, v = (f(t).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for f, t in ((self.q, x), (self.k, context), (self.v, context)))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out(mixed.transpose(1, 2).flatten(2))


class Transformer(nn.Module):
    """Self-attention, attention to a text and a gated GELU, each after a norm and added, as in latent diffusion."""

    def __init__(self, features, context, heads):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(features) for _ in range(3))
        self.own = Attention(features, features, heads)
        self.cross = Attention(features, context, heads)
        self.gate = nn.Linear(features, 8 * features)
        self.narrow = nn.Linear(4 * features, features)

    def forward(self, x, context):
        y = self.norms[0](x)
        x = x + self.own(y, y)
        x = x + self.cross(self.norms[1](x), context)
        value, gate = self.gate(self.norms[2](x)).chunk(2, dim=-1)
        return x + self.narrow(value * nn.functional.gelu(gate))


class UnetBlock(nn.Module):
    """A residual block that takes the time step and a transformer that takes the text: what a U-Net of Stable Diffusion
    repeats, at its first width."""

    def __init__(self, channels=320, time=1280, context=768, heads=8):
        super().__init__()
        self.norm1, self.norm2, self.norm3 = (nn.GroupNorm(32, channels) for _ in range(3))
        self.conv1, self.conv2 = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
        self.time = nn.Linear(time, channels)
        self.into, self.back = (nn.Conv2d(channels, channels, 1) for _ in range(2))
        self.transformer = Transformer(channels, context, heads)

    def forward(self, sample, time_embedding, text):
        act = nn.functional.silu
        x = self.conv1(act(self.norm1(sample))) + self.time(act(time_embedding))[:, :, None, None]
        x = sample + self.conv2(act(self.norm2(x)))
        y = self.into(self.norm3(x))
        height, width = y.shape[2:]
        y = self.transformer(y.flatten(2).transpose(1, 2), text)
        return x + self.back(y.transpose(1, 2).unflatten(2, (height, width)))


def mlp(*sizes):
    layers = []
    for inner, outer in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inner, outer), nn.ReLU()]
    return nn.Sequential(*layers)


class Dlrm(nn.Module):
    """Deep learning recommendation with the layers published for the Criteo data, its tables cut to 10000 rows."""

    def __init__(self, tables=26, rows=10000, width=16):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(tables))
        self.bottom = mlp(13, 512, 256, 64, width)
        pairs = torch.tril_indices(tables + 1, tables + 1, offset=-1)
        self.rows = nn.Buffer(pairs[0], persistent=False)
        self.columns = nn.Buffer(pairs[1], persistent=False)
        self.top = mlp(width + pairs.shape[1], 512, 256)
        self.last = nn.Linear(256, 1)

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        features = torch.stack([x] + [t(sparse[:, k]) for k, t in enumerate(self.tables)], dim=1)
        products = features @ features.transpose(1, 2)
        return torch.sigmoid(self.last(self.top(torch.cat([x, products[:, self.rows, self.columns]], dim=1))))


class Lstm(nn.Module):
    def __init__(self, inputs=128, features=256, outputs=64):
        super().__init__()
        self.lstm = nn.LSTM(inputs, features, num_layers=2, batch_first=True)
        self.out = nn.Linear(features, outputs)
        for name, p in self.lstm.named_parameters():
            if "bias" in name:  # exported joined and in another order, which says nothing when all are the same
                nn.init.constant_(p, 0.05)

    def forward(self, x):
        return self.out(self.lstm(x)[0])


def vision(name):
    """With its batch normalizations folded into the convolutions before, as the exporter does it anyway: so the weights
    in the file are those of the module."""
    import torchvision
    from torch.fx.experimental.optimization import fuse

    return fuse(getattr(torchvision.models, name)(weights=None).eval())


def bert(**sizes):
    import transformers

    model = transformers.BertModel(transformers.BertConfig(**sizes), add_pooling_layer=False)
    return Only(model, "input_ids", "attention_mask", "token_type_ids")


def gpt2():
    import transformers

    return WithPast(transformers.GPT2LMHeadModel(transformers.GPT2Config()))


def llama():
    import transformers

    config = transformers.LlamaConfig(hidden_size=576, intermediate_size=1536, num_hidden_layers=30,
                                      num_attention_heads=9, num_key_value_heads=3, vocab_size=49152,
                                      tie_word_embeddings=True)
    return WithPast(transformers.LlamaForCausalLM(config))


def whisper():
    import transformers

    model = transformers.WhisperModel(transformers.WhisperConfig(
        d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536, decoder_layers=1))
    return Only(model.encoder, "input_features")


def t5():
    import transformers

    return Only(transformers.T5EncoderModel(transformers.T5Config()), "input_ids", "attention_mask")


# An input: name, sizes (a dimension is a number or NAME=SIZE, symbolic with this default), and the range of integers or
# None for normal numbers.
IMAGE = [("image", ["batch=1", 3, 224, 224], None)]
TOKENS = ["batch=1", "seq=128"]


def words(vocabulary, *more):
    return [("input_ids", TOKENS, [0, vocabulary]), ("attention_mask", TOKENS, [1, 2]), *more]


def past(vocabulary, layers, heads, width):
    keys = ["batch=1", heads, "past=127", width]
    return [("input_ids", ["batch=1", 1], [0, vocabulary]),
            *((f"past_{k}_{what}", keys, None) for k in range(layers) for what in ("key", "value"))]


SEGMENTS = ("token_type_ids", TOKENS, [0, 2])
MODELS = {  # name: (how to build it, inputs, what is special about weights: see spreads in export_graphs)
    "resnet-50": (lambda: vision("resnet50"), IMAGE, {r"conv3\.weight$": 0.3}),
    "mobilenet-v3": (lambda: vision("mobilenet_v3_large"), IMAGE, {}),
    "efficientnet-b0": (lambda: vision("efficientnet_b0"), IMAGE, {"weight$": 1.1}),
    "vit-b16": (lambda: vision("vit_b_16"), IMAGE, {}),
    "bert-base": (bert, words(30522, SEGMENTS), {}),
    "minilm": (lambda: bert(hidden_size=384, num_hidden_layers=6, intermediate_size=1536), words(30522, SEGMENTS), {}),
    "gpt2-decode": (gpt2, past(50257, 12, 12, 64), {}),
    "llama-decode": (llama, past(49152, 30, 3, 64), {}),
    "llama-prefill": (llama, [("input_ids", TOKENS, [0, 49152])], {}),
    "whisper-encoder": (whisper, [("mel", ["batch=1", 80, 3000], None)], {}),
    "t5-encoder": (t5, words(32128), {r"\.q\.weight$": "normal 0 0.0055", "relative_attention_bias": "normal 0 0.5"}),
    "unet-block": (UnetBlock, [("sample", ["batch=1", 320, 32, 32], None), ("time_embedding", ["batch=1", 1280], None),
                               ("text", ["batch=1", 77, 768], None)], {}),
    "dlrm": (Dlrm, [("dense", ["batch=128", 13], None), ("sparse", ["batch=128", 26], [0, 10000])],
             {"^tables": "normal 0 0.25"}),
    "lstm": (Lstm, [("x", ["batch=1", "seq=100", 128], None)], {r"lstm\.bias": None}),
}
