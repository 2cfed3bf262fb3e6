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

from core.pretrain._language import mean_log_probability, next_word_loss
from core.pretrain._layers import (
    Batch,
    ForwardResult,
    ModelFamily,
    TextStates,
    contrastive_loss,
    cosines,
    set_positions,
    text_settings,
    trimmed,
    vision_settings,
)
from core.pretrain._recipes import Recipe
from core.pretrain._tokens import BOS, EOS, NO, PAD, YES, image_settings, questions

_ITC_SCALE = 20.0  # BlipForImageTextRetrieval has no temperature of its own: its ITC score is the bare cosine


def _config(recipe: Recipe, words: int) -> BlipConfig:
    """Both towers; the text tower reads the picture by cross-attention."""
    text = text_settings(recipe, words) | {"sep_token_id": EOS, "projection_dim": recipe.projection}
    text |= {"encoder_hidden_size": recipe.vision.width}
    text |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return BlipConfig(
        text_config=text,
        vision_config=vision_settings(recipe),
        projection_dim=recipe.projection,
        image_text_hidden_size=recipe.projection,
        logit_scale_init_value=2.6592,
    )


def _placed(module: Any, recipe: Recipe) -> Any:
    embeddings = module.vision_model.embeddings
    set_positions(embeddings.position_embedding.data[0, 1:], embeddings.patch_embedding.weight.data, recipe)
    return module


def _mask(ids: torch.Tensor) -> torch.Tensor:
    return (ids != PAD).long()


def _paired(
    tokens: torch.Tensor, ids: torch.Tensor, images: torch.Tensor, captions: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Image tokens and caption ids of the pairs (images[p], captions[p])."""
    return tokens[images], trimmed(ids[captions])


# Retrieval


def _layers(module: Any, tokens: torch.Tensor, ids: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The text encoder's words ids (p, length) after looking at the image tokens (p, t, d): (p, length, d) a layer."""
    return module.text_encoder(
        input_ids=ids,
        attention_mask=_mask(ids),
        encoder_hidden_states=tokens,
        encoder_attention_mask=torch.ones(tokens.shape[:2], dtype=torch.long, device=tokens.device),
        output_hidden_states=True,
    ).hidden_states


def _itm_logit(module: BlipForImageTextRetrieval, read: torch.Tensor) -> torch.Tensor:
    """Logit of "matches" minus that of "does not", (p,)."""
    no, yes = module.itm_head(read[:, 0]).unbind(-1)
    return yes - no


def _embed_captions(module: BlipForImageTextRetrieval, ids: torch.Tensor) -> torch.Tensor:
    ids = trimmed(ids)
    read = module.text_encoder(input_ids=ids, attention_mask=_mask(ids)).last_hidden_state[:, 0]
    return module.text_proj(read)


def _retrieval_loss(module: BlipForImageTextRetrieval, batch: Batch) -> ForwardResult:
    """ITC as CLIP's, at a fixed temperature; ITM on the true pairs and on the hardest of the batch's false ones."""
    vision = module.vision_model(pixel_values=batch.pixels)
    pooled = module.vision_proj(vision.last_hidden_state[:, 0])
    caption = _embed_captions(module, batch.ids)
    logits = _ITC_SCALE * F.normalize(pooled, dim=-1) @ F.normalize(caption, dim=-1).T
    itc, own = contrastive_loss(logits), torch.arange(len(logits), device=logits.device)
    other = logits.detach().masked_fill(torch.eye(len(own), dtype=torch.bool, device=own.device), -1e4)
    images = torch.cat([own, own, _draw(other.T)])
    captions = torch.cat([own, _draw(other), own])
    tokens, ids = _paired(vision.last_hidden_state, batch.ids, images, captions)
    layers = _layers(module, tokens, ids)
    itm = F.binary_cross_entropy_with_logits(_itm_logit(module, layers[-1]), (images == captions).float())
    # Asked of the last layer but one, and beside wrong pictures too: a true caption gives its own words away.
    words = TextStates(layers[-2], ids, images, captions)
    return ForwardResult(itc + itm, pooled, vision.last_hidden_state[:, 1:], caption, words)


def _draw(logits: torch.Tensor) -> torch.Tensor:
    """One column per row with the softmax's probabilities: hard negatives more often."""
    return torch.multinomial(logits.softmax(dim=-1), 1).squeeze(1)


def _itc_scores(module: BlipForImageTextRetrieval, pixels: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Cosines, (b, m, k)."""
    tokens = module.vision_model(pixel_values=pixels.flatten(0, 1)).last_hidden_state
    images = module.vision_proj(tokens[:, 0]).unflatten(0, pixels.shape[:2])
    captions = _embed_captions(module, ids.flatten(0, 1)).unflatten(0, ids.shape[:2])
    return cosines(images, captions)


def _crossed(pixels: torch.Tensor, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, tuple[int, ...]]:
    """Every image of a group with every caption of it: indices into the flat images and captions, and (b, m, k)."""
    (b, m), k = pixels.shape[:2], ids.shape[1]
    group = torch.arange(b)[:, None, None]
    images = (group * m + torch.arange(m)[None, :, None]).expand(b, m, k).flatten()
    captions = (group * k + torch.arange(k)[None, None, :]).expand(b, m, k).flatten()
    return images, captions, (b, m, k)


def _itm_scores(module: BlipForImageTextRetrieval, pixels: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Matching logits, (b, m, k)."""
    tokens = module.vision_model(pixel_values=pixels.flatten(0, 1)).last_hidden_state
    images, captions, shape = _crossed(pixels, ids)
    layers = _layers(module, *_paired(tokens, ids.flatten(0, 1), images, captions))
    return _itm_logit(module, layers[-1]).view(shape)


# Captioning


def _build_captioner(recipe: Recipe, words: int) -> BlipForConditionalGeneration:
    """A decoder that reads the picture by cross-attention."""
    settings = _config(recipe, words)
    if recipe.null_images is not None:
        settings.null_images = list(recipe.null_images)  # read by `core.scorers.score_kinds.null_pixels`
    return _placed(BlipForConditionalGeneration(settings), recipe)


def _decoded(module: Any, tokens: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """The decoder's words ids (p, length), each of which saw those before it and the image tokens: (p, length, d)."""
    return module.text_decoder.bert(
        input_ids=ids, attention_mask=_mask(ids), encoder_hidden_states=tokens, is_decoder=True
    ).last_hidden_state


def _captioner_loss(module: BlipForConditionalGeneration, batch: Batch) -> ForwardResult:
    """Cross-entropy of the caption's tokens."""
    vision = module.vision_model(pixel_values=batch.pixels)
    ids = trimmed(batch.ids)
    read = _decoded(module, vision.last_hidden_state, ids)
    loss = next_word_loss(module.text_decoder.cls(read), ids)
    own = torch.arange(len(ids), device=ids.device)
    # A word is read before those after it, so they cannot give it away.
    words = TextStates(read, ids, own, own)
    return ForwardResult(loss, vision.pooler_output, vision.last_hidden_state[:, 1:], words=words)


def _captioner_scores(
    module: BlipForConditionalGeneration, pixels: torch.Tensor, ids: torch.Tensor
) -> torch.Tensor:
    """Mean log P(token | picture, tokens before): the logarithm of VisualGPTScore, (b, m, k)."""
    tokens = module.vision_model(pixel_values=pixels.flatten(0, 1)).last_hidden_state
    images, captions, shape = _crossed(pixels, ids)
    seen, read = _paired(tokens, ids.flatten(0, 1), images, captions)
    logits = module.text_decoder.cls(_decoded(module, seen, read))
    return mean_log_probability(logits, read).view(shape)


# Question answering


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


def _vqa_loss(module: BlipForQuestionAnswering, batch: Batch) -> ForwardResult:
    """Cross-entropy of the answer: "yes" for a picture's own caption, "no" for its twin's or another scene's."""
    vision = module.vision_model(pixel_values=batch.pixels)
    own = torch.arange(len(batch.ids), device=batch.ids.device)
    other = _others(len(own), batch.pairs).to(own.device)
    images, captions = torch.cat([own, own]), torch.cat([own, other])
    tokens, asked = _paired(vision.last_hidden_state, questions(batch.ids), images, captions)
    layers = _layers(module, tokens, asked)
    read = layers[-1]
    answers = torch.cat([torch.full_like(own, YES), torch.full_like(own, NO)])
    labels = torch.stack([torch.full_like(answers, BOS), answers, torch.full_like(answers, EOS)], dim=1)
    loss = next_word_loss(_answered(module, read, asked, labels), labels)
    # What a caption tells is asked of the reading beside a wrong picture, which cannot give it away.
    caption = read[len(own) :, 0][other.argsort()]
    words = TextStates(layers[-2], asked, images, captions)
    return ForwardResult(loss, vision.pooler_output, vision.last_hidden_state[:, 1:], caption, words)


def _others(rows: int, pairs: int) -> torch.Tensor:
    """A caption of another scene for each row: the twin's for twins, the neighbour's for the others."""
    other = torch.arange(rows)
    singles = rows - 2 * pairs
    other[:singles] = other[:singles].roll(1)
    other[singles:] = other[singles:].roll(pairs)
    return other


def _vqa_scores(module: BlipForQuestionAnswering, pixels: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Logit of "yes" minus that of "no" as the first word of the answer, (b, m, k)."""
    tokens = module.vision_model(pixel_values=pixels.flatten(0, 1)).last_hidden_state
    images, captions, shape = _crossed(pixels, ids)
    tokens, asked = _paired(tokens, questions(ids.flatten(0, 1)), images, captions)
    begun = torch.full((len(asked), 1), BOS, device=asked.device)
    logits = _answered(module, _layers(module, tokens, asked)[-1], asked, begun)
    return (logits[:, -1, YES] - logits[:, -1, NO]).view(shape)


def _processor(tokenizer: Any) -> BlipProcessor:
    return BlipProcessor(BlipImageProcessor(**image_settings()), tokenizer)


FAMILIES = {
    "blip-retrieval": ModelFamily(
        lambda recipe, words: _placed(BlipForImageTextRetrieval(_config(recipe, words)), recipe),
        _retrieval_loss,
        {"itm": _itm_scores, "itc": _itc_scores},
        _processor,
        lambda recipe: recipe.projection,
    ),
    "blip-captioner": ModelFamily(
        _build_captioner, _captioner_loss, {"visualgptscore": _captioner_scores}, _processor
    ),
    "blip-vqa": ModelFamily(
        # A question encoder that reads the image, and an answer decoder that reads the question.
        lambda recipe, words: _placed(BlipForQuestionAnswering(_config(recipe, words)), recipe),
        _vqa_loss,
        {"vqascore": _vqa_scores},
        _processor,
        asks=True,
    ),
}
