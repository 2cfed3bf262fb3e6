"""Small random models of transformers' image-text-to-text classes, in the hub's layout: what the contract suite reads.

Configurations are the classes' own defaults made small by the names of their fields; processors are the real ones with
a byte-level tokenizer trained on the spot; `FAMILIES` holds what a family needs besides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch

SIDE = 32  # pixels
_WIDTH = 32

# What the fields of a configuration become, by name.
_SIZES: dict[str, Any] = {
    **dict.fromkeys(
        (
            "hidden_size",
            "d_model",
            "embed_dim",
            "out_hidden_size",
            "projection_dim",
            "projector_hidden_size",
            "text_hidden_size",
            "encoder_hidden_size",
            "decoder_hidden_size",
            "vision_hidden_size",
            "projector_input_dim",
            "projector_output_dim",
            "projection_hidden_size",
            "projection_intermediate_size",
            "alignment_intermediate_size",
            "output_dim",
            "patch_embed_hidden_size",
            "moe_hidden_size",
            "projection_hidden_dim",
            "merged_hidden_size",
        ),
        _WIDTH,
    ),
    **dict.fromkeys(
        (
            "intermediate_size",
            "ffn_dim",
            "d_ff",
            "mlp_dim",
            "encoder_ffn_dim",
            "decoder_ffn_dim",
            "dense_intermediate_size",
            "shared_intermediate_size",
            "intermediate_size_mlp",
        ),
        2 * _WIDTH,
    ),
    **dict.fromkeys(
        (
            "num_hidden_layers",
            "depth",
            "layers",
            "num_layers",
            "n_layers",
            "encoder_layers",
            "decoder_layers",
            "num_decoder_layers",
            "resampler_depth",
            "conf_num_hidden_layers",
            "num_global_layers",
        ),
        1,
    ),
    **dict.fromkeys(
        (
            "num_attention_heads",
            "num_heads",
            "attention_heads",
            "num_key_value_heads",
            "encoder_attention_heads",
            "decoder_attention_heads",
            "resampler_n_heads",
            "swa_num_attention_heads",
            "swa_num_key_value_heads",
            "linear_num_key_heads",
            "linear_num_value_heads",
            "linear_num_heads",
            "conf_num_attention_heads",
            "index_n_heads",
            "num_sliding_attention_heads",
            "mamba_num_heads",
        ),
        2,
    ),
    **dict.fromkeys(
        (
            "head_dim",
            "swa_head_dim",
            "resampler_head_dim",
            "linear_head_dim",
            "linear_key_head_dim",
            "linear_value_head_dim",
            "v_head_dim",
            "d_kv",
            "index_head_dim",
            "ssm_state_size",
            "mamba_head_dim",
        ),
        16,
    ),
    **dict.fromkeys(("kv_lora_rank", "q_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim"), 8),
    **dict.fromkeys(
        (
            "moe_intermediate_size",
            "shared_expert_intermediate_size",
            "shared_experts_intermediate_size",
            "share_expert_dim",
            "moe_shared_expert_intermediate_size",
        ),
        16,
    ),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"), 4),
    **dict.fromkeys(("num_experts_per_tok", "moe_k", "moe_topk"), 2),
    **dict.fromkeys(("n_group", "topk_group", "first_k_dense_replace"), 1),
    **dict.fromkeys(("deepstack_visual_indexes", "fullatt_block_indexes", "global_attn_indexes"), (0,)),
    **dict.fromkeys(("adapter_in_dim", "adapter_out_dim", "adapter_input_size"), _WIDTH),
    **dict.fromkeys(("image_size", "resolution"), SIDE),
    "max_position_embeddings": 512,
    "patch_size": 8,
    "num_position_embeddings": 16,
    "window_size": 16,
    "hidden_size_per_layer_input": 8,
    "conv_size": 3,
}
# Fields that transformers works out from the others, or that describe no shape.
_DERIVED = {
    "layer_types",
    "mlp_layer_types",
    "layers_block_type",
    "sub_configs",
    "id2label",
    "label2id",
    "dtype",
}


@dataclass(frozen=True)
class Family:
    """What a model type needs besides its defaults made small.

    tokens : attribute of the tokenizer -> token. others : more special tokens. ids : fields of the configuration,
    without their `_id` -> token, where the tokenizer has no such attribute. shown : what the template writes for an
    image; the `image_token` where None. config, processor, images, videos : settings of these; paths into the
    configuration are dotted. template : False for a family that ships none.
    """

    tokens: Mapping[str, str] = field(default_factory=dict)
    shown: str | None = None
    others: tuple[str, ...] = ()
    ids: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    processor: Mapping[str, Any] = field(default_factory=dict)
    images: Mapping[str, Any] = field(default_factory=dict)
    processor_class: str | None = None
    image_class: str | None = None
    video_class: str | None = None
    videos: Mapping[str, Any] = field(default_factory=dict)
    audio_class: str | None = None
    template: bool = True


_SQUARE = {"size": {"height": SIDE, "width": SIDE}}
_CROPPED = {"size": {"shortest_edge": SIDE}, "crop_size": {"height": SIDE, "width": SIDE}}
_GRID = {"size": {"shortest_edge": 256, "longest_edge": 1024}, "patch_size": 8}
_IMAGE = {"image_token": "<image>"}

_QWEN_TOKENS = {
    "image_token": "<|image_pad|>",
    "video_token": "<|video_pad|>",
    "vision_start_token": "<|vision_start|>",
    "vision_end_token": "<|vision_end|>",
}
_OMNI = {
    **_QWEN_TOKENS,
    "audio_token": "<|AUDIO|>",
    "vision_bos_token": "<|vision_start|>",
    "vision_eos_token": "<|vision_end|>",
    "audio_bos_token": "<|audio_bos|>",
    "audio_eos_token": "<|audio_eos|>",
}
_QWEN_SHOWN = "<|vision_start|><|image_pad|><|vision_end|>"
_GLM_TOKENS = {
    "image_token": "<|image|>",
    "video_token": "<|video|>",
    "image_start_token": "<|begin_of_image|>",
    "image_end_token": "<|end_of_image|>",
    "video_start_token": "<|begin_of_video|>",
    "video_end_token": "<|end_of_video|>",
}
_GLM_SHOWN = "<|begin_of_image|><|image|><|end_of_image|>"
_MROPE = {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": [2, 3, 3]}
_HALF_MROPE = {**_MROPE, "mrope_section": [1, 1, 2], "partial_rotary_factor": 0.5}
_GEMMA_TOKENS = {
    "boi_token": "<start_of_image>",
    "eoi_token": "<end_of_image>",
    "image_token": "<image_soft_token>",
    "boa_token": "<start_of_audio>",
    "eoa_token": "<end_of_audio>",
    "audio_token": "<audio_soft_token>",
}


def _qwen(image_class: str | None = None, **config: Any) -> Family:
    return Family(
        image_class=image_class,
        tokens=_QWEN_TOKENS,
        shown=_QWEN_SHOWN,
        images=_GRID,
        config={"text_config.rope_parameters": _MROPE, **config},
    )


def _glm(**more: Any) -> Family:
    rope = _HALF_MROPE if more.pop("half", False) else _MROPE
    return Family(
        tokens=_GLM_TOKENS,
        shown=_GLM_SHOWN,
        images=_GRID,
        config={"text_config.rope_parameters": rope, **more.pop("config", {})},
        **more,
    )


def _llava(**more: Any) -> Family:
    base = {"patch_size": 8, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}
    return Family(
        tokens=_IMAGE,
        images=more.pop("images", _CROPPED),
        processor={**base, **more.pop("processor", {})},
        config={"vision_config.hidden_act": "quick_gelu", **more.pop("config", {})},
        **more,
    )


_PINPOINTS = [[32, 64], [64, 32], [64, 64]]
_INTERN_TOKENS = {
    "start_image_token": "<img>",
    "end_image_token": "</img>",
    "context_image_token": "<IMG_CONTEXT>",
    "video_token": "<video>",
}
_CHAMELEON = tuple(f"IMGIMG{letter}Z" for letter in "ABCDEFGH")
_EMU = tuple(f"<|visual token {i:06}|>" for i in range(8))
_OVIS = ("<IMG_START>", "<IMG_GRID>", "<IMG_COL>", "<IMG_ROW>", "<IMG_END>")
_GOT = {
    "vision_config.image_size": 128,
    "vision_config.patch_size": 2,
    "vision_config.global_attn_indexes": [],
}
_PIXTRAL = {"size": {"longest_edge": 32}, "patch_size": {"height": 8, "width": 8}}

FAMILIES: dict[str, Family] = {
    "aria": Family(
        tokens=_IMAGE,
        processor={"size_conversion": {980: 4}},
        config={
            "vision_config.image_size": 980,
            "vision_config.patch_size": 196,
            "projector_patch_to_query_dict": {25: 4},
            "max_value_projector_patch_to_query_dict": 4,
        },
    ),
    "aya_vision": Family(
        ids={"image_token": "<|IMG_PATCH|>"},
        shown="<image>",
        others=("<|START_OF_IMG|>", "<|END_OF_IMG|>", "<|IMG_LINE_BREAK|>"),
        processor={"patch_size": 8, "img_size": SIDE, "downsample_factor": 2},
        images=_SQUARE,
    ),
    "chameleon": Family(
        tokens={**_IMAGE, "sep_token": "<sep>"},
        images=_CROPPED,
        processor={"image_seq_length": 16},
        template=False,
        others=("<racm3:break>", "<eoss>", *_CHAMELEON),
        config={
            "vocabulary_map": lambda words: {
                t: words.convert_tokens_to_ids(t) for t in ("<image>", *_CHAMELEON)
            },
            "vq_config.num_embeddings": 8,
            "vq_config.base_channels": 32,
            "vq_config.channel_multiplier": [1, 1, 1, 1],
            "vq_config.num_res_blocks": 1,
            "vq_config.latent_channels": 32,
        },
    ),
    "cohere2_vision": Family(
        tokens={
            "image_token": "<|IMG_PATCH|>",
            "boi_token": "<|START_OF_IMG|>",
            "eoi_token": "<|END_OF_IMG|>",
            "img_line_break_token": "<|IMG_LINE_BREAK|>",
        },
        images={**_SQUARE, "patch_size": 2},
    ),
    "cohere_compass": Family(
        ids={
            "image_token": "<|IMAGE_PAD|>",
            "video_token": "<|VIDEO_PAD|>",
            "vision_start_token": "<|VISION_START|>",
            "vision_end_token": "<|VISION_END|>",
        },
        shown="<|VISION_START|><|IMAGE_PAD|><|VISION_END|>",
        images=_GRID,
        config={"text_config.rope_parameters": {"full_attention": _MROPE}},
    ),
    "cosmos3_edge": _qwen(),
    "cosmos3_omni": Family(
        tokens=_QWEN_TOKENS,
        shown=_QWEN_SHOWN,
        images=_GRID,
        processor_class="Qwen3VLProcessor",
        config={"text_config.rope_parameters": _MROPE},
    ),
    "deepseek_vl": Family(tokens=_IMAGE, images=_SQUARE, processor={"num_image_tokens": 16}),
    "deepseek_vl_hybrid": Family(
        tokens=_IMAGE,
        images={**_SQUARE, "high_res_size": {"height": 64, "width": 64}},
        processor={"num_image_tokens": 16},
        config={"high_res_vision_config.image_size": 64},
    ),
    "dots3_note": Family(
        ids={
            "image_token": "<|imgpad|>",
            "video_token": "<|video_pad|>",
            "audio_token": "<|audio_comp_pad|>",
        },
        shown="<|imgpad|>",
        images=_GRID,
    ),
    "emu3": Family(
        tokens={
            "image_token": "<image>",
            "boi_token": "<|image start|>",
            "eoi_token": "<|image end|>",
            "image_wrapper_token": "<|image token|>",
            "eof_token": "<|extra_201|>",
        },
        others=("<|extra_200|>", *_EMU),
        config={
            "vocabulary_map": lambda words: {
                t: words.convert_tokens_to_ids(t) for t in ("<image>", "<|extra_200|>", *_EMU)
            },
            "vq_config.codebook_size": 8,
            "vq_config.base_channels": 32,
            "vq_config.hidden_size": 32,
            "vq_config.channel_multiplier": [1, 1, 1, 1],
            "vq_config.num_res_blocks": 1,
            "vq_config.attn_resolutions": [],
        },
        images={"min_pixels": 1024, "max_pixels": 1024},
        image_class="Emu3ImageProcessor",
    ),
    "ernie4_5_vl_moe": Family(
        tokens={
            "image_token": "<|IMAGE_PLACEHOLDER|>",
            "image_start_token": "<|IMAGE_START|>",
            "image_end_token": "<|IMAGE_END|>",
            "video_token": "<|VIDEO_PLACEHOLDER|>",
            "video_start_token": "<|VIDEO_START|>",
            "video_end_token": "<|VIDEO_END|>",
        },
        shown="<|IMAGE_START|><|IMAGE_PLACEHOLDER|><|IMAGE_END|>",
        images=_GRID,
        config={"text_config.rope_parameters": {**_MROPE, "mrope_section": [3, 3, 2]}},
        videos={"draw_on_frames": False},
    ),
    "exaone4_5": Family(tokens=_QWEN_TOKENS, shown=_QWEN_SHOWN, images=_GRID),
    "fast_vlm": _llava(
        processor_class="LlavaProcessor",
        image_class="CLIPImageProcessor",
        images={"size": {"shortest_edge": 64}, "crop_size": {"height": 64, "width": 64}},
        config={
            "vision_config.architecture": "fastvit_mci3",
            "vision_config.model_args": {
                "inference_mode": True,
                "layers": (1, 1, 1, 1, 1),
                "embed_dims": (8, 16, 16, 16, 16),
            },
        },
        processor={
            "patch_size": 64,
            "vision_feature_select_strategy": "full",
            "num_additional_image_tokens": 0,
        },
    ),
    "florence2": Family(tokens=_IMAGE, images={**_CROPPED, "image_seq_length": 16}, template=False),
    "fuyu": Family(
        ids={"image_token": "|SPEAKER|"},
        others=("|NEWLINE|",),
        images={**_SQUARE, "patch_size": {"height": 8, "width": 8}},
        template=False,
    ),
    "gemma3": Family(
        tokens=_GEMMA_TOKENS,
        shown="<start_of_image>",
        images=_SQUARE,
        processor={"image_seq_length": 4},
        config={"mm_tokens_per_image": 4},
    ),
    "gemma3n": Family(
        tokens=_GEMMA_TOKENS,
        images=_SQUARE,
        processor={"image_seq_length": 4, "audio_seq_length": 4},
        config={"vision_soft_tokens_per_image": 4},
    ),
    "gemma4": Family(tokens=_GEMMA_TOKENS, images={"patch_size": 8}),
    "gemma4_unified": Family(tokens=_GEMMA_TOKENS, images={"patch_size": 8}),
    "git": Family(template=False, images=_CROPPED),
    "glm46v": _glm(),
    "glm4v": _glm(),
    "glm4v_moe": _glm(half=True, image_class="Glm4vImageProcessor", video_class="Glm4vVideoProcessor"),
    "glm5_next": _glm(
        config={
            "text_config.rope_parameters": None,
            "text_config.qk_rope_head_dim": 0,
            "text_config.head_dim": 0,
        }
    ),
    "glm_ocr": _glm(
        processor_class="Glm46VProcessor",
        image_class="Glm46VImageProcessor",
        video_class="Glm46VVideoProcessor",
    ),
    "glmga": _glm(processor_class="Glm46VProcessor"),
    "got_ocr2": Family(
        ids={"image_token": "<imgpad>"},
        others=("<|im_start|>", "<|im_end|>", "<img>", "</img>"),
        shown="<img><imgpad></img>",
        images={"size": {"height": 128, "width": 128}},
        config=_GOT,
    ),
    "granite4_vision": _llava(
        images={**_CROPPED, "image_grid_pinpoints": _PINPOINTS},
        config={
            "image_grid_pinpoints": _PINPOINTS,
            "deepstack_layer_map": [[0, 0]],
            "spatial_target_layers": [0],
            "downsample_rate": "1/2",
        },
        processor={"downsample_rate": "1/2"},
    ),
    "granite_docling": Family(
        tokens=_IMAGE,
        images=_SQUARE,
        others=("<fake_token_around_image>", "<global-img>"),
        processor={"image_seq_len": 1},
        config={"vision_config.deepstack_visual_indexes": [0]},
    ),
    "hunyuan_vl": Family(
        tokens={
            "image_token": "<|image|>",
            "image_start_token": "<|image_start|>",
            "image_end_token": "<|image_end|>",
        },
        shown="<|image_start|><|image|><|image_end|>",
        images=_GRID,
        config={"text_config.head_dim": 16, "text_config.rope_parameters": _MROPE},
    ),
    "hyperclovax_vision_v2": Family(tokens=_QWEN_TOKENS, images=_GRID),
    "idefics": Family(
        ids={"image_token": "<image>"},
        others=("<fake_token_around_image>",),
        template=False,
        images={"image_size": SIDE, **_SQUARE},
    ),
    "idefics2": Family(
        ids={"image_token": "<image>"},
        others=("<fake_token_around_image>", "<end_of_utterance>"),
        shown="<image>",
        images={"size": {"shortest_edge": 24, "longest_edge": 32}},
        processor={"image_seq_len": 4},
        config={"perceiver_config.resampler_n_latents": 4},
    ),
    "idefics3": Family(
        ids={"image_token": "<image>"},
        others=("<fake_token_around_image>", "<global-img>", "<end_of_utterance>"),
        shown="<image>",
        images={"size": {"longest_edge": 64}, "max_image_size": {"longest_edge": 32}},
        processor={"image_seq_len": 4},
    ),
    "inkling2": Family(tokens=_IMAGE, config={"vision_config.patch_size": 20}),
    "inkling_mm_model": Family(
        tokens=_IMAGE,
        others=("<|content_image|>", "<|content_audio_input|>", "<|unused_200053|>"),
        processor_class="InklingProcessor",
    ),
    "internvl": Family(
        tokens=_INTERN_TOKENS,
        ids={"image_token": "<IMG_CONTEXT>"},
        shown="<IMG_CONTEXT>",
        images=_SQUARE,
        processor={"image_seq_length": 4},
        config={"image_seq_length": 4},
    ),
    "janus": Family(
        tokens={
            "image_token": "<image_placeholder>",
            "boi_token": "<begin_of_image>",
            "eoi_token": "<end_of_image>",
        },
        images=_SQUARE,
        processor={"num_image_tokens": 16},
        config={"vision_config.num_image_tokens": 16},
    ),
    "kimi_k25": Family(
        tokens={**_QWEN_TOKENS, "image_token": "<|media_pad|>"},
        images={"patch_size": 8, "max_patches": 16},
        config={"text_config.head_dim": 8},
    ),
    "kosmos-2": Family(template=False, images=_CROPPED, processor_class="Kosmos2Processor"),
    "kosmos-2.5": Family(
        tokens={"image_token": "<image>", "boi_token": "<begin>", "eoi_token": "<end>"},
        template=False,
        processor_class="Kosmos2_5Processor",
    ),
    "lfm2_vl": Family(
        tokens={
            **_IMAGE,
            "image_start_token": "<|image_start|>",
            "image_end_token": "<|image_end|>",
            "image_thumbnail_token": "<|img_thumbnail|>",
        },
        images={
            "encoder_patch_size": 8,
            "tile_size": 32,
            "min_image_tokens": 4,
            "max_image_tokens": 16,
            **_SQUARE,
        },
    ),
    "lfm3_vl": Family(tokens=_QWEN_TOKENS, shown=_QWEN_SHOWN, images=_GRID),
    "lighton_ocr": Family(
        tokens={
            "image_token": "<|image_pad|>",
            "image_break_token": "<|break|>",
            "image_end_token": "<|end|>",
        },
        images=_PIXTRAL,
        processor={"patch_size": 8},
    ),
    "llama4": Family(
        ids={"image_token": "<|patch|>"},
        shown="<|image|>",
        others=(
            "<|image|>",
            "<|image_start|>",
            "<|image_end|>",
            "<|tile_x_separator|>",
            "<|tile_y_separator|>",
        ),
        images=_SQUARE,
        processor={"patch_size": 8},
        config={"vision_config.intermediate_size": 4 * _WIDTH, "vision_config.vision_output_dim": _WIDTH},
    ),
    "llava": _llava(),
    "llava_next": _llava(
        images={**_CROPPED, "image_grid_pinpoints": _PINPOINTS}, config={"image_grid_pinpoints": _PINPOINTS}
    ),
    "llava_next_video": _llava(
        images={**_CROPPED, "image_grid_pinpoints": _PINPOINTS}, config={"image_grid_pinpoints": _PINPOINTS}
    ),
    "llava_onevision": Family(
        tokens={**_IMAGE, "video_token": "<video>"},
        images={**_SQUARE, "image_grid_pinpoints": _PINPOINTS},
        processor={"num_image_tokens": 16, "vision_feature_select_strategy": "full"},
        config={"image_grid_pinpoints": _PINPOINTS},
    ),
    **dict.fromkeys(
        ("minicpm_ocr", "minicpmv4_6", "minicpmv4_7"),
        Family(
            tokens={
                **_IMAGE,
                "video_token": "<video>",
                "image_start_token": "<img>",
                "image_end_token": "</img>",
                "slice_start_token": "<slice>",
                "slice_end_token": "</slice>",
                "image_id_start_token": "<image_id>",
                "image_id_end_token": "</image_id>",
            },
            images={"scale_resolution": 32, "patch_size": 8},
            config={
                "text_config.rope_parameters": _HALF_MROPE,
                "insert_layer_id": 0,
                "vision_config.insert_layer_id": 0,
            },
        ),
    ),
    "minimax_m3_vl": Family(
        ids={"image_token": "]<]image[>[", "video_token": "]<]video[>["},
        others=("]<]start of image[>[", "]<]end of image[>["),
        shown="]<]image[>[",
        images=_GRID,
    ),
    "mistral3": Family(
        ids={"image_token": "[IMG]"},
        others=("[IMG_BREAK]", "[IMG_END]"),
        shown="[IMG]",
        images=_PIXTRAL,
        processor={"patch_size": 8, "spatial_merge_size": 2},
    ),
    "mistral_large4": Family(
        ids={"image_token": "[IMG]"},
        others=("[IMG_BREAK]", "[IMG_END]"),
        shown="[IMG]",
        images=_PIXTRAL,
        processor={"patch_size": 8, "spatial_merge_size": 2},
    ),
    "mllama": Family(
        tokens={"image_token": "<|image|>"},
        others=("<|python_tag|>",),
        images=_SQUARE,
        config={
            "text_config.num_hidden_layers": 2,
            "text_config.cross_attention_layers": [1],
            "vision_config.intermediate_layers_indices": [0],
            "vision_config.vision_output_dim": 2 * _WIDTH,
        },
    ),
    "molmo2": Family(
        ids={
            "image_patch": "<im_patch>",
            "image_start_token": "<im_start>",
            "image_end_token": "<im_end>",
            "low_res_image_start_token": "<low_res_im_start>",
            "frame_start_token": "<frame_start>",
            "frame_end_token": "<frame_end>",
        },
        others=("<|image|>", "<|video|>", "<im_col>", "<im_low>"),
        shown="<|image|>",
        images={**_SQUARE, "patch_size": 8, "overlap_margins": [1, 1]},
        config={
            "adapter_config.vision_feature_layer": [0],
            "vision_config.num_position_embeddings": 16,
            "vision_config.image_size": [SIDE, SIDE],
        },
    ),
    "muse_glimmer": Family(
        ids={"image_token": "<|patch|>", "video_token": "<|video|>"},
        others=(
            "<|image_start|>",
            "<|image_end|>",
            "<|vid_frame_separator|>",
            "<|vid_start|>",
            "<|vid_end|>",
        ),
        shown="<|patch|>",
        images={"patch_size": 8},
        config={"out_hidden_size": 4 * _WIDTH},
    ),
    "muse_spark": Family(
        ids={"image_token": "<|patch|>", "video_token": "<|video|>", "audio_token": "<|audio|>"},
        others=(
            "<|image_start|>",
            "<|image_end|>",
            "<|vid_frame_separator|>",
            "<|vid_start|>",
            "<|vid_end|>",
            "<|soft_audio_start|>",
            "<|soft_audio_end|>",
        ),
        shown="<|patch|>",
        images={"patch_size": 8},
        config={
            "out_hidden_size": 4 * _WIDTH,
            "audio_config.patch_sizes": (16,),
            "audio_config.hidden_sizes": (32,),
            "audio_config.depths": (1,),
            "audio_config.out_hidden_size": _WIDTH,
        },
    ),
    "nemotron_h_omni": Family(
        tokens={
            **_IMAGE,
            "video_token": "<video>",
            "audio_token": "<so_embedding>",
            "image_start_token": "<img>",
            "image_end_token": "</img>",
        },
        config={"vision_config.video_temporal_patch_size": 2},
        image_class="NemotronH_Omni_Reasoning_V3ImageProcessor",
        video_class="NemotronH_Omni_Reasoning_V3VideoProcessor",
        audio_class="ParakeetFeatureExtractor",
    ),
    "ovis2": Family(
        ids={"image_token": "<IMG_ATOM>"},
        shown="<image>",
        images=_SQUARE,
        processor={"image_seq_length": 16},
        others=_OVIS,
        config={"visual_indicator_token_ids": lambda words: words.convert_tokens_to_ids(list(_OVIS))},
    ),
    "paddleocr_vl": Family(
        tokens={"image_token": "<|IMAGE_PLACEHOLDER|>"},
        images=_GRID,
        config={"text_config.rope_parameters": _MROPE},
    ),
    "paligemma": Family(
        tokens=_IMAGE,
        images={**_SQUARE, "image_seq_length": 16},
        template=False,
        config={"vision_config.image_size": SIDE, "text_config.num_image_tokens": 16},
    ),
    "perception_lm": Family(
        tokens={**_IMAGE, "video_token": "<video>"},
        processor={"patch_size": 8, "pooling_ratio": 1},
        images={"tile_size": SIDE, **_SQUARE},
        config={
            "vision_config.architecture": "vit_pe_core_large_patch14_336",
            "vision_config.model_args": {
                "embed_dim": 64,
                "img_size": (SIDE, SIDE),
                "patch_size": 8,
                "depth": 1,
                "num_heads": 2,
                "global_pool": "",
                "use_post_transformer_norm": False,
                "init_values": 0.1,
                "ref_feat_shape": (4, 4),
            },
        },
    ),
    "pix2struct": Family(template=False),
    "pp_formulanet": Family(template=False),
    "udop": Family(template=False),
    "qianfan_ocr": Family(
        tokens=_INTERN_TOKENS,
        ids={"image_token": "<IMG_CONTEXT>"},
        shown="<image>",
        images=_SQUARE,
        processor={"image_seq_length": 4},
        config={"image_seq_length": 4},
    ),
    "qwen2_vl": _qwen(**{"vision_config.mlp_ratio": 2}),
    "qwen2_5_vl": _qwen(),
    "qwen3_vl": _qwen(),
    "qwen3_vl_moe": _qwen("Qwen2VLImageProcessor"),
    "qwen3_5": _qwen(**{"text_config.rope_parameters": _HALF_MROPE}),
    "qwen3_5_moe": _qwen(**{"text_config.rope_parameters": _HALF_MROPE}),
    "qwen4_exp": _qwen(
        **{
            "text_config.rope_parameters": _HALF_MROPE,
            "text_config.indexer_n_heads": 2,
            "text_config.indexer_kv_heads": 1,
            "text_config.indexer_head_dim": 16,
            "text_config.indexer_budget": 256,
            "text_config.indexer_compress_ratio": 8,
        }
    ),
    "shieldgemma2": Family(
        tokens=_GEMMA_TOKENS,
        shown="<start_of_image>",
        images=_SQUARE,
        processor={"image_seq_length": 4},
        config={"mm_tokens_per_image": 4, "tie_word_embeddings": True},
        image_class="Gemma3ImageProcessor",
    ),
    "smolvlm": Family(
        ids={"image_token": "<image>"},
        others=("<fake_token_around_image>", "<global-img>", "<end_of_utterance>"),
        shown="<image>",
        images={"size": {"longest_edge": 64}, "max_image_size": {"longest_edge": 32}},
        processor={"image_seq_len": 4},
    ),
    "step3p7": Family(
        ids={"image_token": "<im_patch>"},
        shown="<im_patch>",
        others=("<patch_start>", "<patch_end>", "<patch_newline>", "<im_start>", "<im_end>"),
        images={**_SQUARE, "patch_size": 32, "vision_patch_size": 8},
        config={"vision_config.max_position_embeddings": 16, "text_config.sliding_window": 64},
    ),
    "qwen2_5_omni_thinker": Family(
        tokens=_OMNI,
        shown=_QWEN_SHOWN,
        images=_GRID,
        processor_class="Qwen2_5OmniProcessor",
        image_class="Qwen2VLImageProcessor",
        video_class="Qwen2VLVideoProcessor",
        audio_class="WhisperFeatureExtractor",
        config={
            "text_config.rope_parameters": _MROPE,
            "vision_start_token_id": lambda words: words.convert_tokens_to_ids("<|vision_start|>"),
        },
    ),
    "qwen3_omni_moe_thinker": Family(
        tokens=_OMNI,
        shown=_QWEN_SHOWN,
        images=_GRID,
        processor_class="Qwen3OmniMoeProcessor",
        image_class="Qwen2VLImageProcessor",
        video_class="Qwen2VLVideoProcessor",
        audio_class="WhisperFeatureExtractor",
        config={
            "text_config.rope_parameters": _MROPE,
            "vision_start_token_id": lambda words: words.convert_tokens_to_ids("<|vision_start|>"),
        },
    ),
    "t5gemma2": Family(
        tokens=_GEMMA_TOKENS,
        shown="<start_of_image>",
        images=_SQUARE,
        processor={"image_seq_length": 4},
        image_class="Gemma3ImageProcessor",
    ),
    "video_llama_3": Family(tokens=_QWEN_TOKENS, images=_GRID),
    "video_llava": _llava(image_class="VideoLlavaImageProcessor", video_class="VideoLlavaVideoProcessor"),
    "vipllava": _llava(config={"vision_feature_layer": (-2, -1)}),
}


@cache
def _vocabulary() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<pad>", "<unk>", "<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    text = 'USER: \nDoes this figure show "a red cube and a blue ball"? Please answer yes or no. ASSISTANT: Yes\nYes No'
    made.train_from_iterator([text] * 9, trainer)
    return made.to_str()


def words(tokens: Mapping[str, str], others: list[str]) -> Any:
    """A byte-level tokenizer with the family's special tokens as attributes, and others that it only knows."""
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    made = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(_vocabulary()),
        pad_token="<pad>",
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        extra_special_tokens=dict(tokens),
        padding_side="left",
    )
    made.add_tokens(others, special_tokens=True)
    return made


TEMPLATE = (
    "{{% for m in messages %}}{{{{ m['role'].upper() + ': ' }}}}{{% for c in m['content'] %}}"
    "{{% if c['type'] == 'image' %}}{{{{ '{shown}' }}}}{{% else %}}{{{{ '\\n' + c['text'] }}}}{{% endif %}}"
    "{{% endfor %}}{{{{ '\\n' }}}}{{% endfor %}}{{% if add_generation_prompt %}}{{{{ 'ASSISTANT:' }}}}{{% endif %}}"
)

_TOKEN_FIELD = re.compile(r"(.*_token)_(?:id|index)$|(.*)_id$")


def _default(model_type: str) -> Any:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    return CONFIG_MAPPING[model_type]()


def _fields(config: Any) -> dict[str, Any]:
    """The fields of a configuration, with a default for each part that is left out."""
    found = {k: v for k, v in vars(config).items() if not k.startswith("_")}
    for name, part in (getattr(type(config), "sub_configs", None) or {}).items():
        if found.get(name) is None and name == "vision_config":
            found[name] = part()
    return found


def _unknown_tokens(config: Any, known: Mapping[str, str]) -> list[str]:
    """A token of its own for each token field of a configuration that the family does not name."""
    found = []
    for name, value in _fields(config).items():
        if hasattr(value, "to_dict"):
            found += _unknown_tokens(value, known)
        elif (match := _TOKEN_FIELD.match(name)) and (value is None or isinstance(value, int)):
            base = match[1] or match[2]
            if base not in known and base not in ("pad_token", "bos_token", "eos_token"):
                found.append(f"<{base}>")
    return list(dict.fromkeys(found))


def shrunk(config: Any, tokenizer: Any, tokens: Mapping[str, str]) -> dict[str, Any]:
    """Settings of a small configuration of the same class."""
    made: dict[str, Any] = {}
    types: list[str] = []
    for name, value in _fields(config).items():
        if hasattr(value, "to_dict"):
            made[name] = {"model_type": value.model_type, **shrunk(value, tokenizer, tokens)}
        elif name in ("layer_types", "mlp_layer_types", "layers_block_type") and value:
            types = types or list(dict.fromkeys(value))
        elif name == "vocab_size" and value and value > 1000:
            made[name] = len(tokenizer)
        elif name in _SIZES and value is not None:
            size = _SIZES[name]
            made[name] = (
                [size] * len(value)
                if isinstance(value, list | tuple) and not isinstance(size, tuple)
                else size
            )
        elif (match := _TOKEN_FIELD.match(name)) and (value is None or isinstance(value, int)):
            base = match[1] or match[2]
            if base in ("pad_token", "bos_token", "eos_token"):
                made[name] = getattr(tokenizer, f"{base}_id")
            else:
                made[name] = tokenizer.convert_tokens_to_ids(tokens.get(base, f"<{base}>"))
    for name in ("layer_types", "mlp_layer_types", "layers_block_type"):
        if value := getattr(config, name, None):
            kinds = list(dict.fromkeys(value))
            count = max(
                len(set(getattr(config, n, None) or ()))
                for n in ("layer_types", "mlp_layer_types", "layers_block_type")
            )
            made[name] = [kinds[i % len(kinds)] for i in range(count)]
            made["num_hidden_layers"] = count
    return made


def _put(settings: dict[str, Any], path: str, value: Any) -> None:
    *parts, last = path.split(".")
    for part in parts:
        settings = settings[part]
    if value is None:
        settings.pop(last, None)
    else:
        settings[last] = value


def build(
    model_type: str,
    folder: Path,
    config: Mapping[str, Any] | None = None,
    images: Mapping[str, Any] | None = None,
) -> Path:
    """Write the small model of a type; `config` and `images` on top of the family's."""
    import transformers
    from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING_NAMES
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES

    family = FAMILIES.get(model_type, Family(tokens=_IMAGE))
    default = _default(model_type)
    known = {**family.tokens, **family.ids}
    others = [*family.others, *family.ids.values(), *_unknown_tokens(default, known)]
    tokenizer = words(
        family.tokens, list(dict.fromkeys(t for t in others if t not in family.tokens.values()))
    )
    settings = shrunk(default, tokenizer, known)
    for path, value in {**family.config, **(config or {})}.items():
        _put(settings, path, value(tokenizer) if callable(value) else value)
    config = type(default)(**settings)
    torch.manual_seed(0)
    module = getattr(transformers, MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES[model_type])(config).eval()
    _randomise(module)
    reader = getattr(transformers, family.processor_class or PROCESSOR_MAPPING_NAMES[model_type])
    parts: dict[str, Any] = {}
    for name in reader.get_attributes():
        if name == "tokenizer":
            parts[name] = tokenizer
        elif name == "image_processor":
            found = family.image_class or IMAGE_PROCESSOR_MAPPING_NAMES[model_type]["torchvision"]
            parts[name] = getattr(transformers, found)(**{**family.images, **(images or {})})
        else:
            found = family.video_class if name == "video_processor" else family.audio_class
            more = family.videos if name == "video_processor" else {}
            parts[name] = getattr(transformers, found or _part(name, model_type))(**more)
    shown = family.shown or family.tokens.get("image_token")
    template = {"chat_template": TEMPLATE.format(shown=shown)} if family.template else {}
    processor = reader(**parts, **family.processor, **template)
    module.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def _part(name: str, model_type: str) -> Any:
    from transformers.models.auto.feature_extraction_auto import FEATURE_EXTRACTOR_MAPPING_NAMES
    from transformers.models.auto.video_processing_auto import VIDEO_PROCESSOR_MAPPING_NAMES

    names = {
        "video_processor": VIDEO_PROCESSOR_MAPPING_NAMES,
        "feature_extractor": FEATURE_EXTRACTOR_MAPPING_NAMES,
    }[name]
    found = names[model_type]
    return found["torchvision"] if isinstance(found, dict) else found


def _randomise(module: Any) -> None:
    """Weights large enough that other images and other words give clearly other scores."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.ndim > 1:
                parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator))
            elif parameter.numel() == 1 or not torch.isfinite(parameter).all():
                parameter.fill_(0.5)  # gates are drawn closed
