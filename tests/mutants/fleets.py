"""What random plays of a fleet found: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

FOUND = "tests/doors/hooks/test_found_by_fleets.py"
CHANGES = "tests/operations/guards/test_changes.py"
FOLDER = f"{FOUND}::test_a_folder_with_anothers_work_is_deleted_after_that_work_was_read"
LEFT = f"{FOUND}::test_what_a_client_left_in_the_background_is_not_laid_at_anothers_door"
LINK = f"{FOUND}::test_a_link_that_an_agent_replaces_is_its_work"
STAGED = f"{FOUND}::test_what_an_agent_staged_and_did_not_commit_is_its_work_also_after_its_end"
LONE = f"{FOUND}::test_a_lone_agents_own_programs_and_git_leave_nothing_to_be_read"
BROUGHT = f"{FOUND}::test_what_another_wrote_while_git_was_to_bring_back_a_file_is_kept_and_told"
PUT_BACK = f"{FOUND}::test_what_a_commit_hook_took_away_and_put_back_can_be_committed"
OWN = f"{FOUND}::test_who_sweeps_its_own_files_while_others_work_hears_of_no_doubt"
KIN = f"{FOUND}::test_who_loses_its_work_to_a_sweep_of_its_subagent_is_told_and_can_have_it_back"
MOVED = f"{FOUND}::test_a_file_in_a_folder_that_a_script_moved_is_still_its_writers_work"

PEOPLE = "tests/doors/hooks/test_people.py"
SWEPT = f"{PEOPLE}::test_a_sweep_leaves_what_a_person_changed_and_the_agent_has_not_read"
WHOSE = "tests/operations/guards/test_attribution.py"

ROWS = (
    ("operations/guards/ledger.py", "        if change.is_drop and head.change is not None and head.change.grade == NOBODY:\n",
     "        if False:\n", "tests/doors/hooks/test_two_agents.py::test_once_found"),
    ("operations/guards/ledger.py",
     "head.named = max([call.opened for call in self.calls.values() if row[4] in call.named], default=0)",
     "head.named = 0", "tests/doors/hooks/test_two_agents.py::test_once_found"),
    ("operations/guards/edit_guard.py", 'for one in makers or facts.get("suspects", ()) if', "for one in makers if",
     "tests/doors/hooks/test_two_agents.py::test_once_found"),
    ("operations/guards/edit_guard.py", "for agent in (*others, *added) if", "for agent in others if",
     "tests/doors/hooks/test_two_agents.py::test_once_found"),
    ("operations/guards/ledger.py", "call.is_open and (accompanied or now", "call.is_open and (now",
     "tests/operations/guards/test_ledger.py::test_such_a_look_is_owed_by_every_open_call_while_another_agent_is_there"),
    ("operations/guards/attribution.py", "if format_ and there and not git", "if format_ and not git",
     f"{FOUND}::test_a_file_that_a_person_makes_where_an_agent_named_a_missing_one_is_not_the_agents"),
    ("session/working_tree.py", "            flags += CARRIED\n", "            pass\n",
     f"{PEOPLE}::test_what_an_agent_added_to_a_persons_unread_change_is_not_dropped_with_it"),
    ("operations/guards/attribution.py", "    if not any(one.could for one in suspects):\n", "    if not suspects:\n",
     f"{WHOSE}::test_a_formatter_is_done_within_seconds_after_the_edit_also_if_a_look_came_in_between"),
    ("doors/hooks/shell_guard.py", "            where = os.path.join(effect.cwd, effect.paths[0]) if removed else effect.cwd\n", "            where = effect.cwd\n",
     f"{PEOPLE}::test_a_working_tree_with_work_in_it_is_not_removed_by_force"),
    ("doors/hooks/edit_guard.py", "any(maker not in {agent, GIT, BASE} for maker in head.authors.values())", "change is not None and change.actor != agent",
     f"{PEOPLE}::test_a_persons_change_is_settled_by_reading_and_editing_also_after_an_edit_that_merged"),
    ("operations/guards/working_tree.py", ' and (record["by"] != WORK or record["there"])\n', "\n",
     f"{PEOPLE}::test_a_lone_agent_changes_the_branch_with_work_of_an_ended_session_there"),
    ("doors/hooks/shell_guard.py", "audits import GIVE_BACK\n", "audits import AUDIT as GIVE_BACK\n",
     f"{FOUND}::test_a_refused_command_swallows_no_message"),
    ("doors/hooks/shell_guard.py", "            loose = _loose(session, call, swept)\n", "            pass\n", SWEPT),
    ("session/working_tree.py", " and seen.last(path) != head.content", "", SWEPT),
    ("operations/guards/working_tree.py", 'drops and (record["later"] or whole)', "drops",
     f"{PEOPLE}::test_what_a_person_left_before_the_agent_began_goes_and_can_be_brought_back"),
    ("operations/guards/working_tree.py", 'drops and (record["later"] or whole)', 'record["later"] or whole',
     f"{PEOPLE}::test_what_takes_in_or_moves_no_file_passes_with_a_persons_changes_there"),
    ("operations/guards/working_tree.py", 'drops and (record["later"] or whole)', 'drops and record["later"]',
     f"{PEOPLE}::test_what_a_person_left_in_a_working_tree_goes_with_it_only_after_a_read"),
    ("operations/guards/shell_guard.py", "            dropped += working_tree.dropped(sweep, counting)\n", "",
     f"{PEOPLE}::test_what_a_person_left_before_the_agent_began_goes_and_can_be_brought_back"),
    ("operations/guards/edit_guard.py", "        dropped.append(name)\n", "        pass\n",
     f"{PEOPLE}::test_what_a_person_left_before_the_agent_began_goes_and_can_be_brought_back"),
    ("doors/hooks/edit_guard.py", "*tree.state.owned(agent), *unread]", "*tree.state.owned(agent)]",
     f"{PEOPLE}::test_a_folder_goes_only_after_what_a_person_made_in_it_was_read"),
    ("doors/hooks/shell_guard.py", "        owned = _owned(session, call, swept)\n", "        owned = _owned(session, call, known)\n",
     f"{PEOPLE}::test_a_sweep_in_another_working_tree_leaves_what_lies_there"),
    ("operations/guards/edit_guard.py", "_all_unseen(tx, [refused for _, refused in unseen])", "unseen[0][1]",
     f"{FOUND}::test_all_files_of_a_folder_that_have_to_be_read_first_are_named_at_once"),
    ("operations/guards/working_tree.py",
     "    found = list({path: (path, record) for path, record in reversed(found)}.values())[::-1]  # each file once\n", "",
     f"{FOUND}::test_a_file_in_a_folder_is_named_once_in_a_refusal"),
    ("session/working_tree.py", "(self._is_whole or self._is_recent(seen))", "self._is_whole",
     f"{FOUND}::test_what_another_agent_staged_before_any_look_is_still_its_makers_work"),
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
    ("session/working_tree.py", " and all(authors.get(one) == change.actor for one in known.contents(change.path))", "",
     f"{FOUND}::test_who_undoes_its_change_of_what_it_never_read_has_still_to_read_it"),
    ("session/working_tree.py", "{change.actor, BASE, GIT}:", "{change.actor, BASE}:", LONE),
    ("operations/guards/ledger.py", "head.authors.get(change.after) in {BASE, GIT}", "head.authors.get(change.after) == BASE",
     LONE),
    ("doors/hooks/shell_guard.py", 'blob=_brought(tree, path, content) if sure else ""', 'blob=""', BROUGHT),
    ("doors/hooks/git_scope.py", '() if effect.has("p", "patch") else paths', "()", OWN),
    ("doors/hooks/git_scope.py", '        self.undo([*files, *[f"{folder}/" for folder in folders if folder]], "", MISSING)\n', "", OWN),
    ("doors/hooks/git_scope.py", '            self.undo(tracked, "" if keeps else "HEAD", "" if keeps else MISSING)\n', "", OWN),
    ("session/working_tree.py", "how.lower() == BACK or expected", "expected",
     f"{FOUND}::test_what_git_brings_back_has_to_be_read_by_who_has_never_seen_it"),
    ("operations/guards/changes.py",
     '        victims = [holder["agent"], *[one for one in victims if not any(related(one, other) for other in near)]]\n',
     '        victims = [holder["agent"]]\n',
     f"{FOUND}::test_who_has_work_in_a_file_that_another_holds_hears_that_a_person_changed_it"),
    ("operations/guards/attribution.py", "    if movers and not any(one.how for one in suspects):\n", "    if False:\n", MOVED),
    ("operations/guards/attribution.py", "return head.owners if last is None else last.was_owned", "return head.owners", MOVED),
    ("operations/guards/ledger.py", "        if change.is_drop and any(owner != change.actor for owner in change.was_owned):\n", "        if False:\n", KIN),
    ("operations/guards/changes.py", "if kin and all(related(victim, actor) for victim in victims):", "if kin:",
     f"{CHANGES}::test_work_of_a_relative_that_is_thrown_away_does_not_hide_it_from_the_holder"),
    ("operations/guards/changes.py", "    victims += kin\n", "",
     f"{CHANGES}::test_of_several_owners_whose_work_is_thrown_away_relatives_and_others_are_told"),
    ("operations/guards/changes.py", "    kin = [one for one in kin if _is_there(tx, one)]\n", "",
     f"{FOUND}::test_a_subagent_at_work_is_told_what_its_parent_took_away_and_an_ended_one_is_not"),
    ("operations/guards/ledger.py", " and self.flags[:2] not in {NAMED + WHOLE, NAMED + MERGES}\n", "\n",
     f"{FOUND}::test_relatives_continue_each_others_work_without_a_word"),
    ("operations/guards/ledger.py", "(returns or not _is_plain(change))", "not _is_plain(change)", PUT_BACK),
    ("operations/guards/changes.py", '        _put_back(tx, change["tree"], resources.show(change["resource"]), change["was"], now)\n', "", PUT_BACK),
    ("operations/guards/attribution.py", "expected == after and not missed", "expected == after",
     f"{WHOSE}::test_a_content_that_a_call_announced_and_a_look_after_its_end_did_not_find_is_not_its_doing"),
    ("session/working_tree.py", " or (is_large and seen.path in self.staged)", "",
     f"{FOUND}::test_a_large_file_that_is_staged_and_not_committed_is_kept"),
    ("doors/hooks/edit_guard.py", "is_new = bool(one.write.edits) and _content(tree, one.path) == MISSING", "is_new = False",
     "tests/doors/hooks/test_two_agents.py::test_once_found"),
    ("session/working_tree.py", "            in_git = seen.content  # a large file", "            pass  # a large file",
     f"{FOUND}::test_a_large_file_that_git_has_is_nobodys_work"),
)  # fmt: skip
