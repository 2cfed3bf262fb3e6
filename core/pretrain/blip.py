"""BLIP's three architectures: image-text retrieval, captioning, question answering."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F
from transformers import (
    BlipConfig,
    BlipForConditionalGeneration,
    BlipForImageTextRetrieval,
    BlipForQuestionAnswering,
    BlipImageProcessor,
    BlipProcessor,
)

from core.pretrain.language import mean_log_probability, next_word_loss
from core.pretrain.layers import Batch, ForwardResult, TextStates, place, tower, trimmed
from core.pretrain.recipes import Recipe
from core.pretrain.tokens import BOS, EOS, NO, PAD, YES, image_settings, questions
from core.scenes.render import MODEL_SIZE


def config(recipe: Recipe, words: int) -> BlipConfig:
    """Both towers; the text tower reads the picture by cross-attention."""
    ids = {"bos_token_id": BOS, "eos_token_id": EOS, "sep_token_id": EOS, "pad_token_id": PAD}
    dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    text = (
        tower(recipe.text) | ids | dropout | {"vocab_size": words, "max_position_embeddings": recipe.length}
    )
    text |= {"encoder_hidden_size": recipe.vision.width, "projection_dim": recipe.projection}
    vision = tower(recipe.vision) | {"image_size": MODEL_SIZE, "patch_size": recipe.patch}
    return BlipConfig(
        text_config=text,
        vision_config=vision,
        projection_dim=recipe.projection,
        image_text_hidden_size=recipe.projection,
        logit_scale_init_value=2.6592,
    )


def _placed(module: Any, recipe: Recipe) -> Any:
    seen = module.vision_model.embeddings
    place(seen.position_embedding.data[0], seen.patch_embedding.weight.data, recipe)
    return module


def _mask(ids: torch.Tensor) -> torch.Tensor:
    return (ids != PAD).long()


def _paired(
    tokens: torch.Tensor, ids: torch.Tensor, images: torch.Tensor, captions: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Image tokens and caption ids of the pairs (images[p], captions[p])."""
    return tokens[images], trimmed(ids[captions])


# Retrieval


def build_retrieval(recipe: Recipe, words: int) -> BlipForImageTextRetrieval:
    """With the ITC projections and the ITM head."""
    return _placed(BlipForImageTextRetrieval(config(recipe, words)), recipe)


def _layers(module: Any, tokens: torch.Tensor, ids: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The text encoder's words ids (p, length) after looking at the image tokens (p, t, d): (p, length, d) a layer."""
    return module.text_encoder(
        input_ids=ids,
        attention_mask=_mask(ids),
        encoder_hidden_states=tokens,
        encoder_attention_mask=torch.ones(tokens.shape[:2], dtype=torch.long, device=tokens.device),
        output_hidden_states=True,
    ).hidden_states


def _read(module: Any, tokens: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """The last layer's."""
    return _layers(module, tokens, ids)[-1]


def _itm_logit(module: BlipForImageTextRetrieval, read: torch.Tensor) -> torch.Tensor:
    """Logit of "matches" minus that of "does not", (p,)."""
    no, yes = module.itm_head(read[:, 0]).unbind(-1)
    return yes - no


def _embed_captions(module: BlipForImageTextRetrieval, ids: torch.Tensor) -> torch.Tensor:
    ids = trimmed(ids)
    read = module.text_encoder(input_ids=ids, attention_mask=_mask(ids)).last_hidden_state[:, 0]
    return module.text_proj(read)


def retrieval_loss(module: BlipForImageTextRetrieval, batch: Batch) -> ForwardResult:
    """ITC as CLIP's, at a fixed temperature; ITM on the true pairs and on the hardest of the batch's false ones."""
    seen = module.vision_model(pixel_values=batch.pixels)
    pooled = module.vision_proj(seen.last_hidden_state[:, 0])
    told = _embed_captions(module, batch.ids)
    logits = ITC_SCALE * F.normalize(pooled, dim=-1) @ F.normalize(told, dim=-1).T
    own = torch.arange(len(logits), device=logits.device)
    itc = (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own)) / 2
    other = logits.detach().masked_fill(torch.eye(len(own), dtype=torch.bool, device=own.device), -1e4)
    images = torch.cat([own, own, _draw(other.T)])
    captions = torch.cat([own, _draw(other), own])
    tokens, ids = _paired(seen.last_hidden_state, batch.ids, images, captions)
    layers = _layers(module, tokens, ids)
    itm = F.binary_cross_entropy_with_logits(_itm_logit(module, layers[-1]), (images == captions).float())
    # Asked of the last layer but one, and beside wrong pictures too: a true caption gives its own words away.
    words = TextStates(layers[-2], ids, images, captions)
    return ForwardResult(itc + itm, pooled, seen.last_hidden_state[:, 1:], told, words)


ITC_SCALE = 20.0  # BlipForImageTextRetrieval has no temperature of its own: its ITC score is the bare cosine


def _draw(logits: torch.Tensor) -> torch.Tensor:
    """One column per row with the softmax's probabilities: hard negatives more often."""
    return torch.multinomial(logits.softmax(dim=-1), 1).squeeze(1)


def itc_scores(module: BlipForImageTextRetrieval, pixels: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Cosines, (b, m, k)."""
    tokens = module.vision_model(pixel_values=pixels.flatten(0, 1)).last_hidden_state
    images = F.normalize(module.vision_proj(tokens[:, 0]), dim=-1).unflatten(0, pixels.shape[:2])
    captions = F.normalize(_embed_captions(module, ids.flatten(0, 1)), dim=-1).unflatten(0, ids.shape[:2])
    return images @ captions.transpose(1, 2)


def _crossed(pixels: torch.Tensor, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, tuple[int, ...]]:
    """Every image of a group with every caption of it: indices into the flat images and captions, and (b, m, k)."""
    (b, m), k = pixels.shape[:2], ids.shape[1]
    group = torch.arange(b)[:, None, None]
    images = (group * m + torch.arange(m)[None, :, None]).expand(b, m, k).flatten()
    captions = (group * k + torch.arange(k)[None, None, :]).expand(b, m, k).flatten()
    return images, captions, (b, m, k)


def itm_scores(module: BlipForImageTextRetrieval, pixels: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Matching logits, (b, m, k)."""
    tokens = module.vision_model(pixel_values=pixels.flatten(0, 1)).last_hidden_state
    images, captions, shape = _crossed(pixels, ids)
    read = _read(module, *_paired(tokens, ids.flatten(0, 1), images, captions))
    return _itm_logit(module, read).view(shape)


# Captioning


def build_captioner(recipe: Recipe, words: int) -> BlipForConditionalGeneration:
    """A decoder that reads the picture by cross-attention."""
    settings = config(recipe, words)
    if recipe.null_images is not None:
        settings.null_images = list(recipe.null_images)  # read by `core.scorers.score_kinds.null_pixels`
    return _placed(BlipForConditionalGeneration(settings), recipe)


def _decoded(module: Any, tokens: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """The decoder's words ids (p, length), each of which saw those before it and the image tokens: (p, length, d)."""
    return module.text_decoder.bert(
        input_ids=ids, attention_mask=_mask(ids), encoder_hidden_states=tokens, is_decoder=True
    ).last_hidden_state


def captioner_loss(module: BlipForConditionalGeneration, batch: Batch) -> ForwardResult:
    """Cross-entropy of the caption's tokens."""
    seen = module.vision_model(pixel_values=batch.pixels)
    ids = trimmed(batch.ids)
    read = _decoded(module, seen.last_hidden_state, ids)
    loss = next_word_loss(module.text_decoder.cls(read), ids)
    own = torch.arange(len(ids), device=ids.device)
    words = TextStates(
        read, ids, own, own
    )  # a word is read before those after it, so they cannot give it away
    return ForwardResult(loss, seen.pooler_output, seen.last_hidden_state[:, 1:], words=words)


def captioner_scores(
    module: BlipForConditionalGeneration, pixels: torch.Tensor, ids: torch.Tensor
) -> torch.Tensor:
    """Mean log P(token | picture, tokens before): the logarithm of VisualGPTScore, (b, m, k)."""
    tokens = module.vision_model(pixel_values=pixels.flatten(0, 1)).last_hidden_state
    images, captions, shape = _crossed(pixels, ids)
    seen, read = _paired(tokens, ids.flatten(0, 1), images, captions)
    logits = module.text_decoder.cls(_decoded(module, seen, read))
    return mean_log_probability(logits, read).view(shape)


# Question answering


def build_vqa(recipe: Recipe, words: int) -> BlipForQuestionAnswering:
    """A question encoder that reads the picture, and an answer decoder that reads the question."""
    return _placed(BlipForQuestionAnswering(config(recipe, words)), recipe)


def _answered(
    module: BlipForQuestionAnswering, read: torch.Tensor, asked: torch.Tensor, begun: torch.Tensor
) -> torch.Tensor:
    """Logits of the words of the answer, (p, words so far, vocabulary).

    Questions of one length at a time, cut there: transformers drops the mask of the decoder's cross-attention, so
    it would look at the padding too.
    """
    lengths = (asked != PAD).sum(dim=1)
    settings: Any = module.config.text_config
    logits = read.new_empty((*begun.shape, settings.vocab_size))
    for length in lengths.unique():
        rows = lengths == length
        logits[rows] = module.text_decoder(
            input_ids=begun[rows], encoder_hidden_states=read[rows, : int(length)]
        ).logits
    return logits


def vqa_logit(module: BlipForQuestionAnswering, tokens: torch.Tensor, asked: torch.Tensor) -> torch.Tensor:
    """Logit of "yes" minus that of "no" as the first word of the answer, (p,)."""
    begun = torch.full((len(asked), 1), BOS, device=asked.device)
    logits = _answered(module, _read(module, tokens, asked), asked, begun)
    return logits[:, -1, YES] - logits[:, -1, NO]


def vqa_loss(module: BlipForQuestionAnswering, batch: Batch) -> ForwardResult:
    """Cross-entropy of the answer: "yes" for a picture's own caption, "no" for its twin's or another scene's."""
    seen = module.vision_model(pixel_values=batch.pixels)
    own = torch.arange(len(batch.ids), device=batch.ids.device)
    other = _others(len(own), batch.pairs).to(own.device)
    images, captions = torch.cat([own, own]), torch.cat([own, other])
    tokens, asked = _paired(seen.last_hidden_state, questions(batch.ids), images, captions)
    layers = _layers(module, tokens, asked)
    read = layers[-1]
    answers = torch.cat([torch.full_like(own, YES), torch.full_like(own, NO)])
    labels = torch.stack([torch.full_like(answers, BOS), answers, torch.full_like(answers, EOS)], dim=1)
    loss = next_word_loss(_answered(module, read, asked, labels), labels)
    # What a caption tells is asked of the reading beside a wrong picture, which cannot give it away.
    told = read[len(own) :, 0][other.argsort()]
    words = TextStates(layers[-2], asked, images, captions)
    return ForwardResult(loss, seen.pooler_output, seen.last_hidden_state[:, 1:], told, words)


def _others(rows: int, pairs: int) -> torch.Tensor:
    """A caption of another scene for each row: the twin's for twins, the neighbour's for the others."""
    other = torch.arange(rows)
    singles = rows - 2 * pairs
    other[:singles] = other[:singles].roll(1)
    other[singles:] = other[singles:].roll(pairs)
    return other


def vqa_scores(module: BlipForQuestionAnswering, pixels: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Logit of "yes" against "no", (b, m, k)."""
    tokens = module.vision_model(pixel_values=pixels.flatten(0, 1)).last_hidden_state
    images, captions, shape = _crossed(pixels, ids)
    return vqa_logit(module, *_paired(tokens, questions(ids.flatten(0, 1)), images, captions)).view(shape)


def blip_processor(tokenizer: Any) -> BlipProcessor:
    return BlipProcessor(BlipImageProcessor(**image_settings(MODEL_SIZE)), tokenizer)
