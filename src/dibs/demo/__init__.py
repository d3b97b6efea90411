"""`dibs demo`: the same fleet twice on a scratch repository, first without dibs, then with it. Plays, counts, shows."""
