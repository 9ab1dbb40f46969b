# csk: puts the commands of a project's skills on PATH while you are in the project.
# Put into ~/.bashrc:  eval "$(csk shell-init bash)"
# CSK_AUTO_ENV=0 turns it off. It starts no process.

_csk_home='@HOME@'

# Takes the first entry $1 out of PATH.
_csk_remove() {
    local path=":${PATH-}:" entry=":$1:"
    case $path in
        *"$entry"*)
            path="${path%%"$entry"*}:${path#*"$entry"}"
            path=${path#:}
            PATH=${path%:}
            ;;
    esac
}

# Returns 0 if csk has installed into the folder $1, and nobody has changed its commands since: what a
# stranger's checkout brings is never put on PATH.
_csk_known() {
    local name root
    [ -r "$_csk_home/hook/projects" ] || return 1
    while IFS=' ' read -r name root; do
        [ "$1" -ef "$root" ] || continue
        if _csk_changed "$1" "$_csk_home/hook/$name"; then
            if [ "${_csk_told-}" != "$1" ]; then
                printf 'csk: %s was changed and is not on PATH; run `csk install` there\n' "$1/.agents/bin" >&2
                _csk_told=$1
            fi
            return 1
        fi
        return 0
    done < "$_csk_home/hook/projects"
    return 1
}

# Returns 0 if the commands of the folder $1 are not as csk left them: its stamp $2 has the time they had then.
_csk_changed() {
    [ -L "$1/.agents" ] || [ -L "$1/.agents/bin" ] && return 0
    [ -e "$2" ] || return 0
    [ -e "$1/.agents/bin" ] || return 1
    [ "$1/.agents/bin" -nt "$2" ] || [ "$1/.agents/bin" -ot "$2" ]
}

_csk_hook() {
    local csk_status=$? folder=$PWD wanted='' global="$_csk_home/global/.agents/bin"
    if [ "${CSK_AUTO_ENV-1}" = 0 ]; then
        folder=''
        global=''
    fi
    # Somebody may have set PATH anew.
    case ":${PATH-}:" in
        *":${_csk_active:-/}/.agents/bin:"*) ;;
        *) _csk_active='' ;;
    esac
    while [ -n "$folder" ]; do
        if [ -f "$folder/.agents/env.sh" ] && _csk_known "$folder"; then
            wanted=$folder
            break
        fi
        folder=${folder%/*}
    done
    if [ -n "$global" ] && [ -d "$global" ]; then
        case ":${PATH-}:" in
            *":$global:"*) ;;
            *)
                # The project's commands stay in front of the user's own.
                if [ -n "${_csk_active-}" ]; then _csk_remove "$_csk_active/.agents/bin"; fi
                PATH="$global${PATH:+:$PATH}"
                if [ -n "${_csk_active-}" ]; then PATH="$_csk_active/.agents/bin:$PATH"; fi
                ;;
        esac
    fi
    if [ "$wanted" != "${_csk_active-}" ]; then
        if [ -n "${_csk_active-}" ]; then
            _csk_remove "$_csk_active/.agents/bin"
            if [ "${CSK_PROJECT_ROOT-}" = "$_csk_active" ]; then unset CSK_PROJECT_ROOT; fi
        fi
        if [ -n "$wanted" ]; then
            _csk_remove "$wanted/.agents/bin"
            PATH="$wanted/.agents/bin${PATH:+:$PATH}"
            export CSK_PROJECT_ROOT="$wanted"
        fi
        _csk_active=$wanted
    fi
    if [ "${CSK_AUTO_ENV-1}" = 0 ]; then _csk_remove "$_csk_home/global/.agents/bin"; fi
    _csk_end
}

# Ends a hook with the status before it; under `set -e` that would end the shell.
_csk_end() {
    case $- in *e*) return 0 ;; esac
    return "$csk_status"
}

# A shell that was started in a project, or after its env.sh was read, takes over what is on PATH already.
case ":${PATH-}:" in
    *":${CSK_PROJECT_ROOT:-/}/.agents/bin:"*) _csk_active=${CSK_PROJECT_ROOT-} ;;
esac
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
