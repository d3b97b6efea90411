"""What random plays of a fleet found: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

FOUND = "tests/doors/hooks/test_found_by_fleets.py"
FOLDER = f"{FOUND}::test_a_folder_with_anothers_work_is_deleted_after_that_work_was_read"
LEFT = f"{FOUND}::test_what_a_client_left_in_the_background_is_not_laid_at_anothers_door"
LINK = f"{FOUND}::test_a_link_that_an_agent_replaces_is_its_work"
STAGED = f"{FOUND}::test_what_an_agent_staged_and_did_not_commit_is_its_work_also_after_its_end"
LONE = f"{FOUND}::test_a_lone_agents_own_programs_and_git_leave_nothing_to_be_read"

ROWS = (
    ("doors/hooks/edit_guard.py", "            items.extend(_unfinished_within(session, tree, call.agent, items))\n", "", FOLDER),
    ("doors/hooks/edit_guard.py", '            tree.name(event.key, f"{one.path}/", one.write.how)\n', "            pass\n",
     f"{FOUND}::test_who_deletes_a_folder_is_the_one_who_deleted_the_files_in_it"),
    ("doors/hooks/tool_call.py", "call.left or event.background or", "call.left or", LEFT),
    ("doors/hooks/edit_guard.py", "_NamedPath(Write(path, MERGES, goes=write.goes)",
     "_NamedPath(Write(path, write.how, goes=write.goes)",
     f"{FOUND}::test_nobody_is_asked_to_read_a_link_that_can_only_be_read_through"),
    ("doors/hooks/edit_guard.py", "            named.setdefault(link[0], []).append(link[1])\n", "", LINK),
    ("doors/hooks/edit_guard.py", "            if write.link == ITSELF:\n                continue\n", "",
     f"{FOUND}::test_who_replaces_a_link_needs_nothing_of_the_file_that_it_leads_to"),
    ("operations/guards/ledger.py", "GITTED in self.flags and STAGED not in self.flags", "GITTED in self.flags", STAGED),
    ("session/working_tree.py", "            before, kind = contents.of_mode(int(mode, 8), blob) if blob else (MISSING, contents.PLAIN)\n", "            pass\n", STAGED),
    ("doors/hooks/shell_guard.py", "            tree.look([path])\n", "            pass\n", STAGED),
    ("session/working_tree.py", " and all(authors.get(one) == change.actor for one in known.contents(change.path))", "",
     f"{FOUND}::test_who_undoes_its_change_of_what_it_never_read_has_still_to_read_it"),
    ("session/working_tree.py", "{change.actor, BASE, GIT}:", "{change.actor, BASE}:", LONE),
    ("operations/guards/ledger.py", "head.authors.get(change.after) in {BASE, GIT}", "head.authors.get(change.after) == BASE",
     LONE),
    ("session/working_tree.py", "            in_git = seen.content  # a large file", "            pass  # a large file",
     f"{FOUND}::test_a_large_file_that_git_has_is_nobodys_work"),
)  # fmt: skip
