"""What is known of the shapes of a program, and what is checked when it runs, in reading order.

Of Relax programs: assumptions (facts with their reasons, entailment), conditions (what each place demands of its value), value_terms
(kinds, element types and ranks as terms), machine_checks (what builtins of the virtual machine compare), length_names (the shape
variables of a module by name, and conditions as text), callers (what calls of a function pass), residual (the checks of a program: proved,
remaining, impossible), decided_lengths (problems after what facts decide), origins and why (where a length comes from).

Of programs with shape contracts (note 004): contract_tree and contract_text (the notation), primitives (their rules), contract_facts and
propagate (what is known where), contract_run (running them), contract_forms (other forms as text), lower (a Relax module).
"""
