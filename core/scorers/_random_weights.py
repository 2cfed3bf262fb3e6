"""Models of published sizes with random weights, made from the libraries' own configurations without a download.

What a model costs in time and memory does not depend on what it has learned: `core.doctor.rehearsal` measures with
these before anybody fetches gigabytes. Run as a process of its own, whose memory is then not the measured one's:

    python -m core.scorers._random_weights NAME FOLDER [WORDS]

WORDS : a text file; its words are entries of the vocabulary, so that captions have about as many tokens as with the
model's own tokenizer. Sizes are those of the published config.json files.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

# Widths of the published towers: base, large, and SigLIP's so400m.
_BASE = {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12}
_LARGE = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}
_SO400M = {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16}
_WIDTHS = {"base": _BASE, "large": _LARGE, "so400m": _SO400M}
# The picture's tower of BLIP-2.
_VIT_G = {"hidden_size": 1408, "intermediate_size": 6144, "num_hidden_layers": 39, "num_attention_heads": 16}
_BERT_VOCABULARY = 30_522
# SmolVLM's decoders by their size in the name: width, its MLP's, layers, heads, heads of keys and values.
_SMOL = {"256M": (576, 1536, 30, 9, 3), "500M": (960, 2560, 32, 15, 5)}
_PART = "500MB"  # as the hub's files are sharded, smaller, so that small models are sharded too
# What a chat model is asked and answers, beside the captions.
_ASKED = (
    "Yes",
    "No",
    "yes",
    "no",
    "Does",
    "this",
    "figure",
    "show",
    "Please",
    "answer",
    "or",
    "assistant",
    "user",
)
_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}IMAGE{% else %}{{ part['text'] }}{% endif %}{% endfor %}\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def _clip(folder: Path, words: Sequence[str], found: re.Match) -> None:
    """A CLIP of transformers, with the vocabulary of all CLIP models (open_clip carries it)."""
    from open_clip.tokenizer import default_bpe
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPProcessor, CLIPTokenizer

    merges = gzip.decompress(Path(default_bpe()).read_bytes()).decode().split("\n")[1 : 49152 - 256 - 2 + 1]
    pieces = [*_byte_letters(), *(f"{letter}</w>" for letter in _byte_letters())]
    pieces += ["".join(merge.split()) for merge in merges] + ["<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}))
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]) + "\n")
    tokenizer = CLIPTokenizer.from_pretrained(folder, model_max_length=77)
    width, patch, side = found["width"], int(found["patch"]), int(found["side"] or 224)
    projection = 768 if width == "large" else 512
    vision = {**_WIDTHS[width], "patch_size": patch, "image_size": side, "projection_dim": projection}
    text = {**_BASE, "projection_dim": projection} if width == "large" else {"projection_dim": projection}
    reader = CLIPImageProcessor(size={"shortest_edge": side}, crop_size={"height": side, "width": side})
    config = CLIPConfig(vision_config=vision, text_config=text, projection_dim=projection)
    _saved(CLIPModel(config), CLIPProcessor(reader, tokenizer), folder)


def _byte_letters() -> list[str]:
    """The letter of each byte, in the order of the vocabulary (GPT-2's table, as OpenAI wrote it)."""
    own = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    rest = [byte for byte in range(256) if byte not in own]
    return [chr(byte) for byte in own] + [chr(256 + i) for i in range(len(rest))]


def _siglip(folder: Path, words: Sequence[str], found: re.Match) -> None:
    """A SigLIP (or a SigLIP 2 of one resolution, which is one) of transformers, with a sentencepiece vocabulary."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import (
        PreTrainedTokenizerFast,
        SiglipConfig,
        SiglipImageProcessor,
        SiglipModel,
        SiglipProcessor,
    )

    size = 256_000 if found["version"] else 32_000
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    pieces += [(f"▁{word.lower()}", -5.0) for word in words[: size // 2]]
    pieces += [(chr(i), -9.0) for i in range(33, 127)] + [("▁", -7.0)]
    pieces += [(f"<extra_{i}>", -20.0) for i in range(size - len(pieces))]
    made = Tokenizer(models.Unigram(pieces, unk_id=2))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="</s>", pad_token="</s>", unk_token="<unk>", model_max_length=64
    )
    width, side = _WIDTHS[found["width"]], int(found["side"])
    config = SiglipConfig(
        vision_config={**width, "patch_size": int(found["patch"]), "image_size": side},
        text_config={**width, "vocab_size": size, "bos_token_id": 1, "eos_token_id": 1, "pad_token_id": 1},
    )
    reader = SiglipImageProcessor(size={"height": side, "width": side})
    _saved(SiglipModel(config), SiglipProcessor(reader, tokenizer), folder)


def _blip(folder: Path, words: Sequence[str], found: re.Match) -> None:
    """A BLIP with its matching head, or as captioner or answerer, with BERT's kind of vocabulary."""
    import transformers
    from transformers import BlipConfig, BlipImageProcessor, BlipProcessor

    tokenizer = _bert_tokenizer(folder, words)
    side = 384
    width = _WIDTHS[found["width"]]
    config = BlipConfig(
        vision_config={**width, "image_size": side}, text_config={"encoder_hidden_size": width["hidden_size"]}
    )
    kind = {"itm": "ImageTextRetrieval", "image-captioning": "ConditionalGeneration"}
    module = getattr(transformers, f"BlipFor{kind.get(found['head'], 'QuestionAnswering')}")(config)
    _saved(module, BlipProcessor(BlipImageProcessor(size={"height": side, "width": side}), tokenizer), folder)


def _blip2(folder: Path, words: Sequence[str], found: re.Match) -> None:
    """BLIP-2's first stage with its matching head: EVA's ViT-g without its last layer, and the Q-Former; no decoder."""
    from transformers import Blip2Config, Blip2ForImageTextRetrieval, Blip2Processor, BlipImageProcessor

    tokenizer = _bert_tokenizer(folder, words)
    vision = {**_VIT_G, "image_size": 224, "patch_size": 14, "initializer_range": 0.02}
    queries = {
        "vocab_size": _BERT_VOCABULARY + 1,
        "encoder_hidden_size": _VIT_G["hidden_size"],
        "use_qformer_text_input": True,
    }
    config = Blip2Config(vision_config=vision, qformer_config=queries)
    reader = BlipImageProcessor(size={"height": 224, "width": 224})
    _saved(Blip2ForImageTextRetrieval(config), Blip2Processor(reader, tokenizer), folder)


def _bert_tokenizer(folder: Path, words: Sequence[str]) -> Any:
    """BERT's tokenizer with BLIP's token of the decoder's beginning; words, then letters for the others."""
    from transformers import BertTokenizer

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words[:20_000], *map(chr, range(97, 123))]
    pieces = list(dict.fromkeys([*pieces, *(f"##{chr(i)}" for i in range(97, 123))]))
    pieces += [f"[unused{i}]" for i in range(_BERT_VOCABULARY - len(pieces))]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
    tokenizer = BertTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"bos_token": "[DEC]"})
    return tokenizer


def _chat_tokenizer(words: Sequence[str], special: Sequence[str], size: int) -> Any:
    """Words with the space before them, single characters for the rest, and special tokens, `size` entries in all."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    known = dict.fromkeys([*_ASKED, *words[: size // 2]])
    pieces = [("<unk>", 0.0), *((f"▁{word}", -5.0) for word in known), *((word, -5.0) for word in _ASKED)]
    pieces += [(chr(i), -9.0) for i in range(33, 127)] + [("▁", -7.0), ("\n", -7.0)]
    pieces += [(f"<extra_{i}>", -20.0) for i in range(size - len(pieces) - len(special))]
    made = Tokenizer(models.Unigram(pieces, unk_id=0))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    ends = {"bos_token": special[0], "eos_token": special[1], "pad_token": special[1], "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(
        tokenizer_object=made, additional_special_tokens=list(special[2:]), model_max_length=8192, **ends
    )


def _smolvlm(folder: Path, words: Sequence[str], found: re.Match) -> None:
    """An Idefics 3, SmolVLM's architecture: the picture in up to 16 tiles of 512 pixels and once as a whole."""
    from transformers import (
        Idefics3Config,
        Idefics3ForConditionalGeneration,
        Idefics3ImageProcessor,
        Idefics3Processor,
    )

    marks = ["<fake_token_around_image>", "<image>", "<end_of_utterance>", "<global-img>"]
    marks += [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    tokenizer = _chat_tokenizer(words, ["<|im_start|>", "<|im_end|>", *marks], 49_280)
    hidden, inner, layers, heads, few = _SMOL[found["size"]]
    text = {
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": inner,
        "vocab_size": 49_280,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": few,
        "head_dim": 64,
        "max_position_embeddings": 8192,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    config = Idefics3Config(
        vision_config={**_BASE, "image_size": 512, "patch_size": 16},
        text_config=text,
        scale_factor=4,
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        tie_word_embeddings=False,
    )
    reader = Idefics3ImageProcessor(size={"longest_edge": 2048}, max_image_size={"longest_edge": 512})
    template = _TEMPLATE.replace("IMAGE", "<image>")
    processor = Idefics3Processor(reader, tokenizer, image_seq_len=64, chat_template=template)
    _saved(Idefics3ForConditionalGeneration(config), processor, folder)


def _qwen2_vl(folder: Path, words: Sequence[str], found: re.Match) -> None:
    """Qwen2-VL-2B in bfloat16, as it is published."""
    import torch
    from transformers import (
        Qwen2VLConfig,
        Qwen2VLForConditionalGeneration,
        Qwen2VLImageProcessor,
        Qwen2VLProcessor,
        Qwen2VLVideoProcessor,
    )

    marks = [
        "<|im_start|>",
        "<|im_end|>",
        "<|vision_start|>",
        "<|vision_end|>",
        "<|image_pad|>",
        "<|video_pad|>",
    ]
    tokenizer = _chat_tokenizer(words, marks, 151_936)
    image, video = (tokenizer.convert_tokens_to_ids(mark) for mark in marks[4:])
    text = {
        "hidden_size": 1536,
        "intermediate_size": 8960,
        "num_hidden_layers": 28,
        "vocab_size": 151_936,
        "num_attention_heads": 12,
        "num_key_value_heads": 2,
        "max_position_embeddings": 32_768,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "rope_parameters": {"rope_type": "default", "mrope_section": [16, 24, 24], "rope_theta": 1_000_000.0},
    }
    vision = {"depth": 32, "embed_dim": 1280, "hidden_size": 1536, "num_heads": 16, "mlp_ratio": 4}
    config = Qwen2VLConfig(
        text_config=text,
        vision_config={**vision, "patch_size": 14},
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=tokenizer.convert_tokens_to_ids(marks[2]),
        vision_end_token_id=tokenizer.convert_tokens_to_ids(marks[3]),
        tie_word_embeddings=True,
    )
    template = _TEMPLATE.replace("IMAGE", "".join(marks[2:5:2]) + marks[3])
    processor = Qwen2VLProcessor(
        Qwen2VLImageProcessor(), tokenizer, Qwen2VLVideoProcessor(), chat_template=template
    )
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        module = Qwen2VLForConditionalGeneration(config)
    finally:
        torch.set_default_dtype(before)
    _saved(module, processor, folder)


def _open_clip(folder: Path, words: Sequence[str], found: re.Match) -> None:
    """An architecture of open_clip's own list, as one safetensors file."""
    import open_clip
    from safetensors.torch import save_file

    if open_clip.get_model_config(found["architecture"]) is None:
        raise KeyError(found["architecture"])
    module = open_clip.create_model(found["architecture"], pretrained=None, precision="fp32")
    state = {name: tensor.contiguous().clone() for name, tensor in module.state_dict().items()}
    save_file(state, folder / "open_clip_model.safetensors")


def _saved(module: Any, processor: Any, folder: Path) -> None:
    module.save_pretrained(folder, max_shard_size=_PART)
    processor.save_pretrained(folder)


_Builder = Callable[[Path, Sequence[str], re.Match], None]
# What a name looks like -> what makes that model. The names are the published ones.
BUILDERS: dict[str, _Builder] = {
    r"openai/clip-vit-(?P<width>base|large)-patch(?P<patch>14|16|32)(-(?P<side>336))?": _clip,
    r"google/siglip(?P<version>2)?-(?P<width>base|large|so400m)-patch(?P<patch>14|16|32)-(?P<side>\d{3})": _siglip,
    r"Salesforce/blip-(?P<head>itm|image-captioning)-(?P<width>base|large)(-coco|-flickr)?": _blip,
    r"Salesforce/blip-(?P<head>vqa)-(?P<width>base)": _blip,
    r"Salesforce/blip2-itm-vit-g(-coco)?": _blip2,
    r"HuggingFaceTB/SmolVLM2?-(?P<size>256M|500M)(-Video)?-Instruct": _smolvlm,
    r"Qwen/Qwen2-VL-2B(-Instruct)?": _qwen2_vl,
    r"open_clip:(?P<architecture>[^/]+)(/.*)?": _open_clip,
}


def build(name: str, folder: Path, words: Sequence[str] = ()) -> None:
    """Write the model of this name into a folder, its weights random (seed 0). KeyError for a name of no known size."""
    import torch

    found = next(
        ((m, make) for pattern, make in BUILDERS.items() if (m := re.fullmatch(pattern, name))), None
    )
    if found is None:
        raise KeyError(name)
    torch.manual_seed(0)
    found[1](folder, words, found[0])


def main(name: str, folder: str, words: str = "") -> None:
    build(name, Path(folder), Path(words).read_text(encoding="utf-8").split() if words else ())


if __name__ == "__main__":
    main(*sys.argv[1:])
