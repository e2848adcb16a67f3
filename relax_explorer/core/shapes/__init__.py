"""What is known of the shapes of a program, and what is checked when it runs, in reading order.

Of Relax programs: assumptions (facts with their reasons, entailment), entail (a list of assertions without those that follow),
conditions (what each place demands of its value), length_tests (conditions over lengths that are computed with tensors),
machine_checks (what builtins of the virtual machine compare), length_names (the shape variables of a
module by name), given (conditions as text), residual (the checks of a program:
proved, remaining, impossible), failing_calls (calls under which the callee always stops).

Of programs with shape contracts (note 004): contract_tree and contract_text (the notation), desugar (contracts as assertions),
primitives (their rules), contract_facts, holding and propagate (what is known where), contract_run (running them), specialise
(copies for sizes), implementation_order, shape_functions (shapes apart from data), contract_forms (these as text), lower (a Relax module).
"""
