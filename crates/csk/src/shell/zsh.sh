# csk: puts the commands of a project's skills on PATH while you are in the project.
# Put into ~/.zshrc:  eval "$(csk shell-init zsh)"
# CSK_AUTO_ENV=0 turns it off. It starts no process.

_csk_home='@HOME@'
typeset -g _csk_active='' _csk_pwd=''

# Takes the first entry $1 out of PATH.
_csk_remove() {
    emulate -L zsh
    local spot=${path[(Ie)$1]}
    (( spot )) && path[spot]=()
    return 0
}

# Returns 0 if csk has installed into the folder $1: what a stranger's checkout brings is never put on PATH.
_csk_known() {
    emulate -L zsh
    local line
    [[ -r $_csk_home/consumers.json ]] || return 1
    while IFS= read -r line; do
        line=${line%,}
        line=${line#"${line%%[! ]*}"}
        if [[ $line == '"/'*'"' ]]; then
            line=${line#\"}
            [[ $1 -ef ${line%\"} ]] && return 0
        fi
    done < $_csk_home/consumers.json
    return 1
}

_csk_hook() {
    local csk_status=$?
    emulate -L zsh
    local folder=$PWD wanted='' global=$_csk_home/global/.agents/bin
    if [[ ${CSK_AUTO_ENV-1} == 0 ]]; then
        folder=''
        global=''
    elif [[ -n $_csk_active && $PWD == $_csk_pwd ]]; then
        return $csk_status
    fi
    _csk_pwd=$PWD
    while [[ -n $folder ]]; do
        if [[ -d $folder/.agents/bin ]] && _csk_known $folder; then
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
            path=($wanted/.agents/bin "$path[@]")
            export CSK_PROJECT_ROOT=$wanted
        fi
        _csk_active=$wanted
    fi
    [[ ${CSK_AUTO_ENV-1} == 0 ]] && _csk_remove $_csk_home/global/.agents/bin
    return $csk_status
}

export CSK_SHELL_HOOK=1
autoload -Uz add-zsh-hook
add-zsh-hook precmd _csk_hook
add-zsh-hook chpwd _csk_hook
_csk_hook
