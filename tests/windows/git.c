/* git.exe for the tests under Wine: lets the machine's own git do the work.
 *
 * Wine can start a Unix program, but neither waits for it nor gives it its pipes. So the shell script GIT_RELAY runs git
 * with its output in files, and this program passes those on when git has ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>

#define MAX_LINE 32768

/* Translates Z:\a\b into /a/b, at the start of an argument or after a `=`. */
static void to_unix(wchar_t *text)
{
    wchar_t *start = text;
    wchar_t *equals = wcschr(text, L'=');
    if (_wcsnicmp(text, L"Z:", 2) != 0 && equals != NULL)
        start = equals + 1;
    if (_wcsnicmp(start, L"\\\\?\\Z:", 6) == 0)
        wmemmove(start, start + 4, wcslen(start + 4) + 1);
    if (_wcsnicmp(start, L"Z:\\", 3) != 0 && _wcsnicmp(start, L"Z:/", 3) != 0)
        return;
    wmemmove(start, start + 2, wcslen(start + 2) + 1);
    for (wchar_t *c = start; *c; c++)
        if (*c == L'\\')
            *c = L'/';
}

/* Appends an argument with the quoting that CommandLineToArgvW undoes. */
static void append(wchar_t *line, const wchar_t *argument)
{
    size_t at = wcslen(line);
    int slashes = 0;
    if (at + 2 * wcslen(argument) + 4 > MAX_LINE)
        exit(128);
    line[at++] = L' ';
    line[at++] = L'"';
    for (const wchar_t *c = argument; *c; c++) {
        if (*c == L'"')
            for (slashes++; slashes > 0; slashes--)
                line[at++] = L'\\';
        slashes = *c == L'\\' ? slashes + 1 : 0;
        line[at++] = *c;
    }
    for (; slashes > 0; slashes--)
        line[at++] = L'\\';
    line[at++] = L'"';
    line[at] = 0;
}

static void pass_on(const wchar_t *folder, const wchar_t *name, DWORD stream)
{
    wchar_t path[MAX_PATH];
    char buffer[65536];
    DWORD count, written;
    swprintf(path, MAX_PATH, L"%ls\\%ls", folder, name);
    HANDLE file = CreateFileW(path, GENERIC_READ, 7, NULL, OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return;
    while (ReadFile(file, buffer, sizeof buffer, &count, NULL) && count > 0)
        WriteFile(GetStdHandle(stream), buffer, count, &written, NULL);
    CloseHandle(file);
    DeleteFileW(path);
}

int wmain(int count, wchar_t **arguments)
{
    static wchar_t line[MAX_LINE];
    wchar_t relay[MAX_PATH], folder[MAX_PATH], unix_folder[MAX_PATH], cwd[MAX_PATH], path[MAX_PATH];
    STARTUPINFOW startup = { .cb = sizeof startup };
    PROCESS_INFORMATION process;
    if (!GetEnvironmentVariableW(L"GIT_RELAY", relay, MAX_PATH)) {
        fprintf(stderr, "git stand-in: GIT_RELAY is not set\n");
        return 128;
    }
    swprintf(folder, MAX_PATH, L"Z:\\tmp\\git-%lu-%lu", GetCurrentProcessId(), GetTickCount());
    CreateDirectoryW(folder, NULL);
    wcscpy(unix_folder, folder);
    to_unix(unix_folder);
    GetCurrentDirectoryW(MAX_PATH, cwd);
    to_unix(cwd);
    wcscpy(line, L"/bin/sh");
    append(line, relay);
    append(line, unix_folder);
    append(line, cwd);
    for (int at = 1; at < count; at++) {
        wchar_t *copy = _wcsdup(arguments[at]);
        to_unix(copy);
        append(line, copy);
    }
    if (!CreateProcessW(L"Z:\\bin\\sh", line, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &process)) {
        fprintf(stderr, "git stand-in: cannot start sh: error %lu\n", GetLastError());
        return 128;
    }
    swprintf(path, MAX_PATH, L"%ls\\code", folder);
    for (int waited = 0; GetFileAttributesW(path) == INVALID_FILE_ATTRIBUTES; waited++) {
        if (waited > 60000)
            return 128;
        Sleep(2);
    }
    FILE *file = _wfopen(path, L"r");
    int code = 128;
    if (file != NULL) {
        fscanf(file, "%d", &code);
        fclose(file);
    }
    pass_on(folder, L"out", STD_OUTPUT_HANDLE);
    pass_on(folder, L"err", STD_ERROR_HANDLE);
    DeleteFileW(path);
    RemoveDirectoryW(folder);
    return code;
}
