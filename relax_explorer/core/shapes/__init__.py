"""What is known of the shapes of a program, and what is checked when it runs, in reading order.

assumptions (facts with their reasons, entailment), entail (a list of assertions without those that follow), conditions (what
each place demands of its value), given (conditions as text), residual (the checks of a program: proved, remaining, impossible).
"""
