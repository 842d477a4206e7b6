"""An attacker of ``moet.verify``: nasty questions, forged proofs and hostile files, judged by other code."""
