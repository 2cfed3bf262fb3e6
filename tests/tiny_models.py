"""Small random models of the generative, matching and language classes, saved as `transformers` saves them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from conftest import SIDE, WORDS, build_clip, build_open_clip, build_siglip, randomise, towers, word_tokenizer

EXTRA = [
    "yes",
    "no",
    "does",
    "this",
    "figure",
    "show",
    "please",
    "answer",
    "or",
    "question",
    "user",
    "assistant",
]
SPECIAL = ["<pad>", "<unk>", "<s>", "</s>", "<image>", "<begin>"]
POSITIONS = 96
COMMON = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
VISION = {**COMMON, "image_size": SIDE, "patch_size": 16}
LLAVA_TEMPLATE = (
    "{% for message in messages %}{% if message['role'] != 'system' %}{{ message['role'].upper() + ': ' }}{% endif %}"
    "{% for content in message['content'] %}{% if content['type'] == 'image' %}{{ '<image>\n' }}{% endif %}{% endfor %}"
    "{% for content in message['content'] %}{% if content['type'] == 'text' %}{{ content['text'] + ' ' }}{% endif %}"
    "{% endfor %}{% endfor %}{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"
)


def tokenizer(frame: str = "<s> $A </s>", image: bool = False):
    """Word-level, lower-cased; `frame` says what is put around a text, `image` whether it names the placeholder."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: i for i, word in enumerate([*SPECIAL, *WORDS, *EXTRA, '"', "?", ".", ":"])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()]
    )
    parts = [(token, vocabulary[token]) for token in ("<s>", "</s>") if token in frame]
    made.post_processor = processors.TemplateProcessing(single=frame, special_tokens=parts)
    names = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        model_max_length=POSITIONS,
        additional_special_tokens=["<image>"],
        **({"image_token": "<image>"} if image else {}),
        **names,
    )


def ids(words) -> dict[str, int]:
    return {
        "vocab_size": len(words),
        "bos_token_id": words.bos_token_id,
        "eos_token_id": words.eos_token_id,
        "pad_token_id": words.pad_token_id,
    }


def save(module, processor, folder: Path, seed: int = 0) -> Path:
    import torch

    randomise(module, seed)
    with torch.no_grad():  # what `randomise` leaves: class embeddings were drawn without a seed
        for name, parameter in module.named_parameters():
            if name.endswith("class_embedding"):
                parameter.fill_(0.1)
    module.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def build_blip(folder: Path, architecture: str, seed: int = 0) -> Path:
    """BlipForConditionalGeneration, BlipForQuestionAnswering or BlipForImageTextRetrieval."""
    import transformers
    from transformers import BlipConfig, BlipImageProcessor, BlipProcessor

    words = tokenizer()
    text = {**COMMON, **ids(words), "encoder_hidden_size": 32, "max_position_embeddings": POSITIONS}
    text |= {"sep_token_id": words.eos_token_id, "bos_token_id": SPECIAL.index("<begin>")}
    config = BlipConfig(
        text_config=text, vision_config=VISION, image_text_hidden_size=16, label_smoothing=0.0
    )
    config.text_config.label_smoothing = 0.0
    module = getattr(transformers, architecture)(config)
    return save(
        module, BlipProcessor(BlipImageProcessor(size={"height": SIDE, "width": SIDE}), words), folder, seed
    )


def text_config(kind: str, words):
    """Configuration of a tiny OPT, T5 or Llama."""
    from transformers import LlamaConfig, OPTConfig, T5Config

    if kind == "t5":
        small = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2}
        return T5Config(**small, **ids(words), decoder_start_token_id=words.pad_token_id)
    if kind == "opt":
        small = {**COMMON, "ffn_dim": 64, "word_embed_proj_dim": 32}
        return OPTConfig(**small, **ids(words), max_position_embeddings=POSITIONS)
    return LlamaConfig(**COMMON, **ids(words), num_key_value_heads=1, max_position_embeddings=POSITIONS)


FRAMES = {"t5": "$A </s>", "opt": "<s> $A", "llama": "<s> $A"}


def build_blip2(folder: Path, language: str = "opt", seed: int = 0) -> Path:
    """Blip2ForConditionalGeneration over OPT or T5."""
    from transformers import Blip2Config, Blip2ForConditionalGeneration, Blip2Processor, BlipImageProcessor

    words = tokenizer(FRAMES[language])
    queries = {**COMMON, "encoder_hidden_size": 32, "vocab_size": len(words)}
    config = Blip2Config(
        vision_config=VISION,
        qformer_config=queries,
        text_config=text_config(language, words).to_dict(),
        num_query_tokens=4,
        image_token_index=words.convert_tokens_to_ids("<image>"),
    )
    images = BlipImageProcessor(size={"height": SIDE, "width": SIDE})
    return save(
        Blip2ForConditionalGeneration(config), Blip2Processor(images, words, num_query_tokens=4), folder, seed
    )


def build_blip2_matcher(folder: Path, seed: int = 0) -> Path:
    """Blip2ForImageTextRetrieval."""
    from transformers import Blip2Config, Blip2ForImageTextRetrieval, Blip2Processor, BlipImageProcessor

    words = tokenizer()
    queries = {**COMMON, "encoder_hidden_size": 32, "vocab_size": len(words), "use_qformer_text_input": True}
    queries["max_position_embeddings"] = POSITIONS
    config = Blip2Config(
        vision_config=VISION, qformer_config=queries, num_query_tokens=4, image_text_hidden_size=16
    )
    config.text_config = text_config("opt", words)
    images = BlipImageProcessor(size={"height": SIDE, "width": SIDE})
    return save(Blip2ForImageTextRetrieval(config), Blip2Processor(images, words), folder, seed)


def build_instructblip(folder: Path, language: str = "t5", seed: int = 0) -> Path:
    """InstructBlipForConditionalGeneration over T5 or Llama."""
    from transformers import (
        BlipImageProcessor,
        InstructBlipConfig,
        InstructBlipForConditionalGeneration,
        InstructBlipProcessor,
    )

    words = tokenizer(FRAMES[language])
    queries = {**COMMON, "encoder_hidden_size": 32, "vocab_size": len(words)}
    config = InstructBlipConfig(
        vision_config=VISION,
        qformer_config=queries,
        text_config=text_config(language, words).to_dict(),
        num_query_tokens=4,
        image_token_index=words.convert_tokens_to_ids("<image>"),
    )
    images = BlipImageProcessor(size={"height": SIDE, "width": SIDE})
    processor = InstructBlipProcessor(images, words, tokenizer(), num_query_tokens=4)
    return save(InstructBlipForConditionalGeneration(config), processor, folder, seed)


def build_llava(folder: Path, seed: int = 0) -> Path:
    """LlavaForConditionalGeneration with a chat template like that of llava-1.5-7b-hf."""
    from transformers import (
        CLIPImageProcessor,
        CLIPVisionConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    words = tokenizer("<s> $A", image=True)
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(**VISION),
        text_config=text_config("llama", words),
        image_token_index=words.convert_tokens_to_ids("<image>"),
    )
    images = CLIPImageProcessor(size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE})
    processor = LlavaProcessor(
        images,
        words,
        patch_size=16,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=LLAVA_TEMPLATE,
    )
    return save(LlavaForConditionalGeneration(config), processor, folder, seed)


def build_flava(folder: Path, architecture: str = "FlavaForPreTraining", seed: int = 0) -> Path:
    """FlavaForPreTraining or FlavaModel, without the image codebook."""
    import transformers
    from transformers import FlavaConfig, FlavaImageProcessor, FlavaProcessor

    words = tokenizer()
    config = FlavaConfig(
        image_config=VISION,
        text_config={**COMMON, **ids(words), "max_position_embeddings": POSITIONS},
        multimodal_config=COMMON,
        hidden_size=32,
        projection_dim=16,
        init_codebook=False,
    )
    images = FlavaImageProcessor(
        size={"height": SIDE, "width": SIDE}, crop_size={"height": SIDE, "width": SIDE}
    )
    return save(getattr(transformers, architecture)(config), FlavaProcessor(images, words), folder, seed)


def build_language(folder: Path, kind: str, seed: int = 0, frame: str | None = None) -> Path:
    """GPT2LMHeadModel, OPTForCausalLM, T5ForConditionalGeneration or BartForConditionalGeneration."""
    import transformers
    from transformers import BartConfig, GPT2Config

    words = tokenizer(frame or {"gpt2": "$A", "bart": "<s> $A </s>"}.get(kind) or FRAMES[kind])
    if kind == "gpt2":
        config = GPT2Config(n_embd=32, n_layer=2, n_head=2, n_positions=POSITIONS, **ids(words))
    elif kind == "bart":
        sides = {
            f"{side}_{name}": size
            for side in ("encoder", "decoder")
            for name, size in (("layers", 2), ("attention_heads", 2), ("ffn_dim", 64))
        }
        config = BartConfig(
            d_model=32,
            max_position_embeddings=POSITIONS,
            **sides,
            **ids(words),
            decoder_start_token_id=words.eos_token_id,
        )
    else:
        config = text_config(kind, words)
    name = {
        "gpt2": "GPT2LMHeadModel",
        "opt": "OPTForCausalLM",
        "t5": "T5ForConditionalGeneration",
        "bart": "BartForConditionalGeneration",
    }[kind]
    return save(getattr(transformers, name)(config), words, folder, seed)


def build_qwen2_vl(folder: Path, seed: int = 0) -> Path:
    """Qwen2VLForConditionalGeneration: patches instead of a square, positions that the image moves."""
    from transformers import (
        Qwen2VLConfig,
        Qwen2VLForConditionalGeneration,
        Qwen2VLImageProcessor,
        Qwen2VLProcessor,
        Qwen2VLVideoProcessor,
    )

    words = tokenizer("$A", image=True)
    image = words.convert_tokens_to_ids("<image>")
    text = {**COMMON, **ids(words), "num_key_value_heads": 1, "max_position_embeddings": 256}
    text["rope_parameters"] = {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10_000.0}
    vision = {"depth": 2, "embed_dim": 32, "hidden_size": 32, "num_heads": 2, "mlp_ratio": 2, "patch_size": 8}
    config = Qwen2VLConfig(
        text_config=text, vision_config=vision, image_token_id=image, video_token_id=len(words) - 1
    )
    pixels = {"patch_size": 8, "merge_size": 2, "min_pixels": 256, "max_pixels": 2048}
    template = LLAVA_TEMPLATE.replace("<image>\\n", "<image> ")
    images, videos = Qwen2VLImageProcessor(**pixels), Qwen2VLVideoProcessor(**pixels)
    processor = Qwen2VLProcessor(images, words, videos, chat_template=template)
    return save(Qwen2VLForConditionalGeneration(config), processor, folder, seed)


def build_smolvlm(folder: Path, seed: int = 0) -> Path:
    """Idefics3ForConditionalGeneration, SmolVLM's class: tokens of its own around the image."""
    from transformers import (
        Idefics3Config,
        Idefics3ForConditionalGeneration,
        Idefics3ImageProcessor,
        Idefics3Processor,
    )

    words = tokenizer("<s> $A", image=True)
    images = Idefics3ImageProcessor(
        size={"longest_edge": SIDE}, max_image_size={"longest_edge": SIDE}, do_image_splitting=False
    )
    processor = Idefics3Processor(images, words, image_seq_len=1, chat_template=LLAVA_TEMPLATE)
    text = text_config("llama", words)
    text.vocab_size = len(words)
    config = Idefics3Config(
        vision_config=VISION, text_config=text, scale_factor=2, image_token_id=processor.image_token_id
    )
    return save(Idefics3ForConditionalGeneration(config), processor, folder, seed)


def build_siglip2(folder: Path) -> Path:
    """Siglip2Model, which takes patches instead of a square."""
    from transformers import Siglip2Config, Siglip2ImageProcessor, Siglip2Model, Siglip2Processor

    tokenizer = word_tokenizer("siglip")
    parts = towers(tokenizer)
    vision = {**parts["vision_config"], "num_patches": 16}
    vision.pop("image_size")
    module = Siglip2Model(Siglip2Config(text_config=parts["text_config"], vision_config=vision))
    randomise(module)
    module.save_pretrained(folder)
    images = Siglip2ImageProcessor(patch_size=16, max_num_patches=256)  # the processor insists on 256
    Siglip2Processor(images, tokenizer).save_pretrained(folder)
    return folder


def build_sentence(folder: Path, base: str = "clip", dense: bool = False, seed: int = 0) -> Path:
    """SentenceTransformer over the towers of `base`, with one more layer or none."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense

    with TemporaryDirectory() as place:
        model = SentenceTransformer(str(BUILDERS[base](Path(place))), device="cpu", local_files_only=True)
        if dense:
            model.append(Dense(32, 8, bias=False))
            randomise(model[1], seed)
        model.prompts |= {"query": "the cube : "}
        model.save_pretrained(str(folder), create_model_card=False)
    return folder


def build_sentence_chat(folder: Path, seed: int = 0) -> Path:
    """SentenceTransformer over the last token of a chat model, as Qwen3-VL-Embedding is."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    with TemporaryDirectory() as place:
        first = Transformer(str(build_qwen2_vl(Path(place), seed)))
        model = SentenceTransformer(modules=[first, Pooling(32, pooling_mode="lasttoken")], device="cpu")
        model.save_pretrained(str(folder), create_model_card=False)
    return folder


BUILDERS: dict[str, Callable[..., Path]] = {
    "clip": build_clip,
    "siglip": build_siglip,
    "siglip2": build_siglip2,
    "open_clip": build_open_clip,
    "open_clip-siglip": partial(build_open_clip, custom_text=True, init_logit_bias=-3.0),
    "blip-caption": partial(build_blip, architecture="BlipForConditionalGeneration"),
    "blip-vqa": partial(build_blip, architecture="BlipForQuestionAnswering"),
    "blip-itm": partial(build_blip, architecture="BlipForImageTextRetrieval"),
    "blip2-opt": partial(build_blip2, language="opt"),
    "blip2-t5": partial(build_blip2, language="t5"),
    "blip2-itm": build_blip2_matcher,
    "instructblip-t5": partial(build_instructblip, language="t5"),
    "instructblip-llama": partial(build_instructblip, language="llama"),
    "llava": build_llava,
    "qwen2-vl": build_qwen2_vl,
    "smolvlm": build_smolvlm,
    "flava": build_flava,
    "flava-model": partial(build_flava, architecture="FlavaModel"),
    "st-clip": build_sentence,
    "st-siglip": partial(build_sentence, base="siglip"),
    "st-dense": partial(build_sentence, dense=True),
    "st-qwen2-vl": build_sentence_chat,
    "gpt2": partial(build_language, kind="gpt2"),
    "gpt2-framed": partial(build_language, kind="gpt2", frame="<s> $A </s>"),
    "opt": partial(build_language, kind="opt"),
    "t5": partial(build_language, kind="t5"),
    "bart": partial(build_language, kind="bart"),
}


@contextmanager
def counted(module) -> Iterator[list[int]]:
    """The batch sizes with which a submodule was called."""
    calls: list[int] = []
    hook = module.register_forward_pre_hook(
        lambda _, args, kwargs: calls.append(len(args[0] if args else next(iter(kwargs.values())))),
        with_kwargs=True,
    )
    try:
        yield calls
    finally:
        hook.remove()


def everything(images, captions) -> np.ndarray:
    """All pairs, (p, 2)."""
    return np.array([(i, j) for i in range(len(images)) for j in range(len(captions))])
