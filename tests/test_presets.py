"""Presets against the paper: every row of Tables 3 to 5, as printed there."""

import pytest

from core.ttm.config import MODELS, PRESETS, default_preset

# [TTM] Tables 3, 4 and 5, copied from the paper: data, model, tau_1, tau_T, schedule, learning rate.
TABLES = {
    3: """
winoground | CLIP-B16 | 0.9 | 0 | linear | 2.0e-5
winoground | SigLIP-B16 | 2.0 | 0 | linear | 1.0e-5
winoground | SigLIP-L16 | 2.0 | 0.1 | cosine | 4.0e-5
mmvp-vlm | CLIP-B16 | 2.0 | 0 | linear | 1.0e-5
mmvp-vlm | SigLIP-B16 | 2.0 | 0.1 | cosine | 2.0e-5
colorswap | CLIP-B16 | 2.3 | 0 | cosine | 4.0e-5
colorswap | SigLIP-B16 | 1.0 | 0 | cosine | 4.0e-5
colorswap | SigLIP-L16 | 2.5 | 0 | cosine | 4.0e-5
""",
    4: """
sugarcrepe/replace_rel | SigLIP-B16 | 2.1 | 0 | cosine | 1.0e-5
sugarcrepe/swap_att | SigLIP-B16 | 1.8 | 0 | cosine | 1.0e-5
sugarcrepe/swap_obj | SigLIP-B16 | 2.0 | 0 | cosine | 1.0e-5
sugarcrepe/add_att | SigLIP-B16 | 2.5 | 0 | cosine | 1.0e-5
whatsup/a-1x4 | CLIP-B32 | 0.55 | 0 | linear | 1.0e-5
whatsup/b-1x4 | CLIP-B32 | 0.80 | 0 | linear | 1.0e-5
whatsup/a-left-right | CLIP-B32 | 0.25 | 0 | linear | 1.0e-5
whatsup/a-on-under | CLIP-B32 | 0.85 | 0 | linear | 1.0e-5
whatsup/b-left-right | CLIP-B32 | 0.50 | 0 | cosine | 2.0e-5
whatsup/b-front-behind | CLIP-B32 | 1.30 | 0 | cosine | 2.0e-5
""",
    5: """
winoground | SigLIP-B16 | 0.50 | 0 | linear | 1.0e-5
mmvp-vlm | SigLIP-B16 | 0.55 | 0 | linear | 2.0e-5
colorswap | SigLIP-B16 | 0.50 | 0 | linear | 4.0e-5
""",
}
ROWS = [(t, *map(str.strip, r.split("|"))) for t, text in TABLES.items() for r in text.strip().splitlines()]


@pytest.mark.parametrize(("table", "data", "model", "first", "last", "schedule", "lr"), ROWS)
def test_every_row_of_tables_3_to_5_is_a_preset(table, data, model, first, last, schedule, lr):
    preset = PRESETS[f"{data}/{model.lower()}{'/global' if table == 5 else ''}"]
    own = preset.config
    assert (preset.dataset, preset.model) == (data, MODELS[model.lower()])
    assert (own.tau_first, own.tau_last, own.schedule, own.lr) == (
        float(first),
        float(last),
        schedule,
        float(lr),
    )
    # C.1: T = 10, 20 epochs and 30 on Winoground; AdamW; no batch of its own, so 50 or 100 groups.
    assert (own.iterations, own.epochs) == (10, 30 if data == "winoground" else 20)
    assert (own.weight_decay, own.betas, own.lr_restart, own.batch) == (0.05, (0.9, 0.999), 0.95, None)
    assert (own.units(2), own.units(1)) == (50, 100)
    assert own.keep_optimizer == ((table, data, model) == (3, "winoground", "SigLIP-B16"))
    wide = ("global", "relative") if table == 5 else ("group", "absolute")
    assert (own.variant, own.threshold_mode) == wide


def test_the_tables_have_no_other_presets():
    assert len(ROWS) == 21 == sum("Table" in preset.source for preset in PRESETS.values())


@pytest.mark.parametrize(("table", "data", "model"), [row[:3] for row in ROWS if row[0] != 5])
def test_a_row_s_preset_is_what_its_data_and_model_start_with(table, data, model):
    assert default_preset("ttm", data, MODELS[model.lower()]) == f"{data}/{model.lower()}"
