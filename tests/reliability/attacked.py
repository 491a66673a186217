"""The studies of a server that is attacked."""

GIVES = "giver"  # jobs; nobody stops or deletes it, so that there are some
TOY = "toy"  # whatever anybody likes
BYSTANDER = "bystander"  # what nobody speaks of
