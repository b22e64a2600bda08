"""Synthetic, seeded conversations that the embedded model is trained and judged on."""
