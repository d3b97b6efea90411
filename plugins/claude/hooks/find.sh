# Is there a workspace of dibs, and do the settings that this client reads not guard it already? If not, the plugin has
# nothing to do, and the hook ends here. Read by the shell of every hook, so only the shell's own commands are used.
# Out: dibs_hook, the launcher, dibs_tree, the working tree that it belongs to, and the launcher's words.

set -- claude
dibs_tree=$CLAUDE_PROJECT_DIR
for settings in "$dibs_tree/.claude/settings.json" "$dibs_tree/.claude/settings.local.json"; do
    [ -r "$settings" ] || continue
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in *'"command":'*.dibs/hook*) exit 0 ;; esac # `dibs init` was here: once is enough
    done <"$settings"
done

d=$dibs_tree dibs_hook=
while [ -n "$d" ] && [ -z "$dibs_hook" ]; do
    if [ -f "$d/.dibs/hook" ]; then
        dibs_tree=$d dibs_hook=$d/.dibs/hook
    elif [ -f "$d/.git/dibs/hook" ]; then # a branch from before dibs, or a sparse checkout
        dibs_tree=$d dibs_hook=$d/.git/dibs/hook
    elif [ -f "$d/.git" ]; then # the same in a linked worktree
        git= common=
        IFS= read -r git <"$d/.git" || [ -n "$git" ] || git=
        git=${git#gitdir: }
        case $git in /*) ;; *) git=$d/$git ;; esac
        common=$git
        if [ -f "$git/commondir" ]; then
            IFS= read -r common <"$git/commondir" || [ -n "$common" ] || common=
            case $common in /*) ;; *) common=$git/$common ;; esac
        fi
        if [ -f "$common/dibs/hook" ]; then
            dibs_tree=$d dibs_hook=$common/dibs/hook
        fi
    fi
    d=${d%/*}
done
[ -n "$dibs_hook" ] || exit 0
