"""What the GEMMs of every arch share: what is computed, its chain, arguments, boxes of TMA, words of templates."""
