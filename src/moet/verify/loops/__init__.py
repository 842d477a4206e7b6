"""Questions about closed loops: a policy that acts on a system, over some steps or for ever."""
