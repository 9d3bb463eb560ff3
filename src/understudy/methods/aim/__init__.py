"""AIM: McKenna, Mullins, Sheldon & Miklau, VLDB 2022 — table after table, each where the model is most wrong."""

from understudy.methods.aim.method import Aim, suits

__all__ = ["Aim", "suits"]
