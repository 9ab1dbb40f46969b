# csk: adds a project's skill commands to PATH while you are in the project.
# Add to ~/.bashrc:  eval "$(csk shell-init bash)"
# Set CSK_AUTO_ENV=0 to disable it. It starts no processes.

_csk_home='@HOME@'
# 1: skill commands come before your own programs on PATH; 0: after them.
_csk_first='@FIRST@'

# Removes csk's entries from PATH.
_csk_clear() {
    local rest="${PATH-}:" entry kept=''
    while [ -n "$rest" ]; do
        entry=${rest%%:*}
        rest=${rest#*:}
        case $entry in
            "$_csk_home"/commands/* | "$_csk_home/global/.agents/bin" | "${CSK_PROJECT_ROOT:-/}/.agents/bin") ;;
            *) kept="$kept:$entry" ;;
        esac
    done
    PATH=${kept#:}
}

# Returns 0 if csk has installed into the folder $1, and sets _csk_name to its command link folder. The links are in
# csk's home, so nothing in a checkout ever ends up on PATH.
_csk_known() {
    local line root
    [ -r "$_csk_home/hook/projects" ] || return 1
    # Trailing spaces are part of a path.
    while IFS= read -r line; do
        root=${line#* }
        [ "$1" -ef "$root" ] || continue
        _csk_name=${line%% *}
        return 0
    done < "$_csk_home/hook/projects"
    return 1
}

_csk_hook() {
    local csk_status=$? folder=$PWD wanted='' ours='' global="$_csk_home/global/.agents/bin"
    if [ "${CSK_AUTO_ENV-1}" = 0 ]; then
        folder=''
        global=''
    fi
    while [ -n "$folder" ]; do
        if [ -f "$folder/.agents/env.sh" ] && _csk_known "$folder"; then
            wanted=$folder
            if [ -d "$_csk_home/commands/$_csk_name" ]; then ours=$_csk_home/commands/$_csk_name; fi
            break
        fi
        folder=${folder%/*}
    done
    # The project's commands come before the global ones.
    if [ -n "$global" ] && [ -d "$global" ]; then ours="${ours:+$ours:}$global"; fi
    # Something else may have changed PATH since the last prompt.
    if [ "$wanted" != "${_csk_active-}" ] || [ "$ours" != "${_csk_ours-}" ] || [ "${PATH-}" != "${_csk_path-}" ]; then
        _csk_clear
        if [ -n "$ours" ] && [ "$_csk_first" = 1 ]; then
            PATH="$ours${PATH:+:$PATH}"
        elif [ -n "$ours" ]; then
            PATH="${PATH:+$PATH:}$ours"
        fi
        if [ -n "${_csk_active-}" ] && [ "${CSK_PROJECT_ROOT-}" = "$_csk_active" ]; then unset CSK_PROJECT_ROOT; fi
        if [ -n "$wanted" ]; then export CSK_PROJECT_ROOT="$wanted"; fi
        _csk_active=$wanted
        _csk_ours=$ours
        _csk_path=$PATH
    fi
    _csk_end
}

# Restores the exit status from before the hook, except under `set -e`, where a failure status would exit the shell.
_csk_end() {
    case $- in *e*) return 0 ;; esac
    return "$csk_status"
}

# A shell started inside a project, or after its env.sh was sourced, adopts the entries already on PATH.
_csk_active=${CSK_PROJECT_ROOT-}
export PATH CSK_SHELL_HOOK=1
case "${PROMPT_COMMAND[*]-}" in
    *_csk_hook*) ;;
    *)
        case "$(declare -p PROMPT_COMMAND 2> /dev/null)" in
            'declare -a'*) PROMPT_COMMAND+=(_csk_hook) ;;
            *) PROMPT_COMMAND="${PROMPT_COMMAND:+$PROMPT_COMMAND;}_csk_hook" ;;
        esac
        ;;
esac
_csk_hook
