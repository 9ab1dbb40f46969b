# csk: puts the commands of a project's skills on PATH while you are in the project.
# Put into ~/.zshrc:  eval "$(csk shell-init zsh)"
# CSK_AUTO_ENV=0 turns it off. It starts no process.

_csk_home='@HOME@'
typeset -g _csk_active=''

# Takes the first entry $1 out of PATH.
_csk_remove() {
    emulate -L zsh
    local spot=${path[(Ie)$1]}
    (( spot )) && path[spot]=()
    return 0
}

# Returns 0 if csk has installed into the folder $1, and nobody has changed its commands since: what a
# stranger's checkout brings is never put on PATH.
_csk_known() {
    emulate -L zsh
    local name root
    [[ -r $_csk_home/hook/projects ]] || return 1
    while IFS=' ' read -r name root; do
        [[ $1 -ef $root ]] || continue
        if _csk_changed $1 $_csk_home/hook/$name; then
            if [[ ${_csk_told-} != $1 ]]; then
                print -ru2 -- "csk: $1/.agents/bin was changed and is not on PATH; run \`csk install\` there"
                typeset -g _csk_told=$1
            fi
            return 1
        fi
        return 0
    done < $_csk_home/hook/projects
    return 1
}

# Returns 0 if the commands of the folder $1 are not as csk left them: its stamp $2 has the time they had then.
_csk_changed() {
    emulate -L zsh
    [[ -L $1/.agents || -L $1/.agents/bin || ! -e $2 ]] && return 0
    [[ -e $1/.agents/bin ]] || return 1
    [[ $1/.agents/bin -nt $2 || $1/.agents/bin -ot $2 ]]
}

_csk_hook() {
    local csk_status=$?
    emulate -L zsh
    local folder=$PWD wanted='' global=$_csk_home/global/.agents/bin
    if [[ ${CSK_AUTO_ENV-1} == 0 ]]; then
        folder=''
        global=''
    fi
    # Somebody may have set PATH anew.
    [[ -n $_csk_active ]] && (( ! ${path[(Ie)$_csk_active/.agents/bin]} )) && _csk_active=''
    while [[ -n $folder ]]; do
        if [[ -f $folder/.agents/env.sh ]] && _csk_known $folder; then
            wanted=$folder
            break
        fi
        folder=${folder%/*}
    done
    if [[ -n $global && -d $global ]] && (( ! ${path[(Ie)$global]} )); then
        # The project's commands stay in front of the user's own.
        [[ -n $_csk_active ]] && _csk_remove $_csk_active/.agents/bin
        path=($global "$path[@]")
        [[ -n $_csk_active ]] && path=($_csk_active/.agents/bin "$path[@]")
    fi
    if [[ $wanted != $_csk_active ]]; then
        if [[ -n $_csk_active ]]; then
            _csk_remove $_csk_active/.agents/bin
            [[ ${CSK_PROJECT_ROOT-} == $_csk_active ]] && unset CSK_PROJECT_ROOT
        fi
        if [[ -n $wanted ]]; then
            _csk_remove $wanted/.agents/bin
            path=($wanted/.agents/bin "$path[@]")
            export CSK_PROJECT_ROOT=$wanted
        fi
        _csk_active=$wanted
    fi
    [[ ${CSK_AUTO_ENV-1} == 0 ]] && _csk_remove $_csk_home/global/.agents/bin
    return $csk_status
}

# A shell that was started in a project, or after its env.sh was read, takes over what is on PATH already.
if [[ ":${PATH-}:" == *":${CSK_PROJECT_ROOT:-/}/.agents/bin:"* ]]; then
    _csk_active=${CSK_PROJECT_ROOT-}
fi
export CSK_SHELL_HOOK=1
autoload -Uz add-zsh-hook
add-zsh-hook precmd _csk_hook
add-zsh-hook chpwd _csk_hook
_csk_hook
