"""Normalise and activate: y = act(norm(x)) over rows; where specialised warps split load, statistics and activation."""
