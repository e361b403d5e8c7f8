"""A CLIP with random weights: 16 units, 8 dimensions, 16 × 16 pixels, the letters a to z."""

import json
import os
import tempfile
from pathlib import Path

#: Where `make` puts it; one for each process of the tests.
TINY_CLIP = str(Path(tempfile.gettempdir()) / f"simviz-tiny-clip-{os.getpid()}")


def make() -> None:
    """Write the model to its folder."""
    import torch
    from transformers import (
        CLIPConfig,
        CLIPImageProcessor,
        CLIPModel,
        CLIPProcessor,
        CLIPTokenizer,
    )

    root = Path(TINY_CLIP)
    root.mkdir()
    letters = [chr(code) for code in range(97, 123)]
    tokens = ["<|startoftext|>", "<|endoftext|>", *letters, *(c + "</w>" for c in letters), "ab"]
    (root / "vocab.json").write_text(json.dumps({t: i for i, t in enumerate(tokens)}))
    (root / "merges.txt").write_text("#version: 0.2\na b\n")
    files = str(root / "vocab.json"), str(root / "merges.txt")
    tokenizer = CLIPTokenizer(*files, model_max_length=16)
    small = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    ends = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
    config = CLIPConfig(
        text_config={**small, **ends, "vocab_size": len(tokens), "max_position_embeddings": 16},
        vision_config={**small, "image_size": 16, "patch_size": 8},
        projection_dim=8,
    )
    torch.manual_seed(0)
    CLIPModel(config).save_pretrained(root)
    images = CLIPImageProcessor(size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16})
    CLIPProcessor(image_processor=images, tokenizer=tokenizer).save_pretrained(root)
