# csk: adds a project's skill commands to PATH while you are in the project.
# Add to your $PROFILE:  csk shell-init powershell | Out-String | Invoke-Expression
# Set CSK_AUTO_ENV=0 to disable it.

$global:CskHome = '@HOME@'
# 1: skill commands come before your own programs on PATH; 0: after them.
$global:CskFirst = '@FIRST@'
$global:CskActive = "$env:CSK_PROJECT_ROOT"

# Returns a project's command link folder if csk has installed into the project. The links are in csk's home, so nothing
# in a checkout ever ends up on PATH.
function global:Find-CskCommands([string]$folder) {
    $list = Join-Path (Join-Path $global:CskHome 'hook') 'projects'
    if (-not (Test-Path -LiteralPath $list)) { return '' }
    foreach ($line in Get-Content -LiteralPath $list) {
        $name, $root = $line -split ' ', 2
        if ($root -eq $folder) { return Join-Path (Join-Path $global:CskHome 'commands') $name }
    }
    return ''
}

function global:Update-CskPath {
    $separator = [IO.Path]::PathSeparator
    $folder = (Get-Location).ProviderPath
    $wanted = ''
    $ours = @()
    $global = Join-Path (Join-Path (Join-Path $global:CskHome 'global') '.agents') 'bin'
    if ($env:CSK_AUTO_ENV -ne '0') {
        while ($folder) {
            $file = Join-Path (Join-Path $folder '.agents') 'env.ps1'
            $commands = if (Test-Path -LiteralPath $file) { Find-CskCommands $folder } else { '' }
            if ($commands) {
                $wanted = $folder
                if (Test-Path -LiteralPath $commands) { $ours += $commands }
                break
            }
            $folder = Split-Path -Parent $folder
        }
        # The project's commands come before the global ones.
        if (Test-Path -LiteralPath $global) { $ours += $global }
    }
    $start = (Join-Path $global:CskHome 'commands') + [IO.Path]::DirectorySeparatorChar
    $own = if ($env:CSK_PROJECT_ROOT) { Join-Path (Join-Path $env:CSK_PROJECT_ROOT '.agents') 'bin' } else { '' }
    $kept = @($env:PATH -split $separator | Where-Object {
        -not $_.StartsWith($start) -and $_ -ne $global -and -not ($own -and $_ -eq $own)
    })
    $entries = if ($global:CskFirst -eq '1') { $ours + $kept } else { $kept + $ours }
    $env:PATH = $entries -join $separator
    if ($wanted -ne $global:CskActive) {
        if ($global:CskActive -and $env:CSK_PROJECT_ROOT -eq $global:CskActive) { $env:CSK_PROJECT_ROOT = $null }
        if ($wanted) { $env:CSK_PROJECT_ROOT = $wanted }
        $global:CskActive = $wanted
    }
}

$env:CSK_SHELL_HOOK = '1'
if (-not (Test-Path function:global:CskPrompt)) {
    Copy-Item function:prompt function:global:CskPrompt
    function global:prompt { Update-CskPath; CskPrompt }
}
Update-CskPath
