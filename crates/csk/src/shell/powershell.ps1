# csk: puts the commands of a project's skills on PATH while you are in the project.
# Put into your $PROFILE:  csk shell-init powershell | Out-String | Invoke-Expression
# CSK_AUTO_ENV=0 turns it off.

$global:CskHome = '@HOME@'
$global:CskActive = ''

function global:Remove-CskEntry([string]$entry) {
    $separator = [IO.Path]::PathSeparator
    $entries = [Collections.Generic.List[string]]($env:PATH -split $separator)
    [void]$entries.Remove($entry)
    $env:PATH = $entries -join $separator
}

function global:Test-CskKnown([string]$folder) {
    $list = Join-Path (Join-Path $global:CskHome 'hook') 'projects'
    if (-not (Test-Path -LiteralPath $list)) { return $false }
    foreach ($line in Get-Content -LiteralPath $list) {
        $name, $root = $line -split ' ', 2
        if ($root -ne $folder) { continue }
        $bin = Get-Item -Force -LiteralPath (Join-Path (Join-Path $folder '.agents') 'bin') -ErrorAction SilentlyContinue
        $stamp = Get-Item -LiteralPath (Join-Path (Join-Path $global:CskHome 'hook') $name) -ErrorAction SilentlyContinue
        return [bool]($stamp -and (-not $bin -or (-not $bin.LinkType -and $bin.LastWriteTimeUtc -eq $stamp.LastWriteTimeUtc)))
    }
    return $false
}

function global:Update-CskPath {
    $separator = [IO.Path]::PathSeparator
    $folder = (Get-Location).ProviderPath
    $wanted = ''
    if ($env:CSK_AUTO_ENV -ne '0') {
        $bin = Join-Path (Join-Path (Join-Path $global:CskHome 'global') '.agents') 'bin'
        if ((Test-Path -LiteralPath $bin) -and -not (($env:PATH -split $separator) -contains $bin)) {
            $env:PATH = $bin + $separator + $env:PATH
        }
        while ($folder) {
            $bin = Join-Path (Join-Path $folder '.agents') 'bin'
            if ((Test-Path -LiteralPath $bin) -and (Test-CskKnown $folder)) { $wanted = $folder; break }
            $folder = Split-Path -Parent $folder
        }
    }
    if ($wanted -ne $global:CskActive) {
        if ($global:CskActive) {
            Remove-CskEntry (Join-Path (Join-Path $global:CskActive '.agents') 'bin')
            if ($env:CSK_PROJECT_ROOT -eq $global:CskActive) { $env:CSK_PROJECT_ROOT = $null }
        }
        if ($wanted) {
            $env:PATH = (Join-Path (Join-Path $wanted '.agents') 'bin') + $separator + $env:PATH
            $env:CSK_PROJECT_ROOT = $wanted
        }
        $global:CskActive = $wanted
    }
}

$env:CSK_SHELL_HOOK = '1'
if (-not (Test-Path function:global:CskPrompt)) {
    Copy-Item function:prompt function:global:CskPrompt
    function global:prompt { Update-CskPath; CskPrompt }
}
Update-CskPath
