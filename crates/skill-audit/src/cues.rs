//! Cue words: harmless one by one, suspicious in combination.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

/// What a word or phrase hints at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cue {
    Download,
    Run,
    Terminal,
    Copy,
    Require,
    Archive,
    Program,
    Password,
    Conceal,
    Override,
    Secret,
    Send,
    NoConfirmation,
    Approvals,
    Remember,
    Warning,
}

/// Words and phrases by cue, separated by `|`. Each matches at the start of a word, whatever follows it.
const WORDS: &[(Cue, &str)] = &[
    (
        Cue::Download,
        "下载|скача|Скача|загруз|Загруз|descarg|Descarg|herunterlad|Lade |télécharg|Télécharg|baixe|Baixe|scarica|Scarica|ダウンロード|다운로드|get it at|grab |download|grab the|get the installer|get it from|fetch the|obtain the|install from|install it from|get it here|from this link|from here",
    ),
    (
        Cue::Run,
        "start |运行|执行|启动|双击|安装|запуст|Запуст|установ|Установ|ejecut|Ejecut|instala|ausführ|Ausführ|starte|exécut|Exécut|lance|execut|Execut|rode |esegui|実行|起動|インストール|실행|설치|carry out|start `|open the |run |run:|run it|running|execute|launch|double-click|double click|start the|open the file|open the app|open the installer|installer|install |setup file|copy and run|paste and run",
    ),
    (
        Cue::Terminal,
        "终端|命令行|терминал|Терминал|ターミナル|터미널|línea de comandos|Kommandozeile|ligne de commande|terminal|command line|command-line|command prompt|powershell|your shell|console window|iterm|cmd.exe|run dialog|win+r",
    ),
    (
        Cue::Copy,
        "复制|粘贴|скопир|Скопир|вставь|copia|Copia|pega |kopier|Kopier|copie|Copie|cole |コピー|貼り付け|복사|붙여|copy|paste",
    ),
    (
        Cue::Require,
        "skill requires|skill needs|skill depends|requires |you need |you will need|you'll need|必须|需要|必需|首先|требуется|Требуется|необходим|Необходим|requiere|Requiere|obligatorio|necesario|erforderlich|Voraussetzung|benötigt|nécessaire|obrigatório|precisa|richiesto|必要|必須|필수|필요|must be installed|must install|must first|must be running|must run|required to|is required|are required|requires the|requires a|require the|requires install|prerequisite|before using|before you|before proceeding|before first use|before activating|will not work|won't work|will not function|does not work without|do not work without|cannot work without|cannot function|not function|in order to use|in order to function|to function|to work correctly|to work properly|needs the|need to install|have to install|mandatory|necessary|system requirement|first-time setup|initial setup|core dependency|required dependency|required component|depends on the|critical:|important:|important**",
    ),
    (
        Cue::Archive,
        "zip |the zip|zip file|解压|压缩包|архив|распак|Распак|descomprim|Descomprim|extra|entpack|Entpack|décompress|解凍|展開|압축|.zip|.rar|.7z|.tar.gz|.tgz|.iso|archive|unzip|unpack|extract|decompress",
    ),
    (
        Cue::Program,
        ".exe|.msi|.dmg|.pkg|.scr|.bat|.apk|.appimage|.app |executable|binary|installer",
    ),
    (
        Cue::Password,
        "password|passcode|passphrase|passwd|pass:|pass `|pass =|pass is|pwd:|pwd is|with pass|using pass|key:",
    ),
    (
        Cue::Conceal,
        "do not tell the user|don't tell the user|do not inform the user|don't inform the user|do not mention this|don't mention this|do not mention that|do not reveal|without telling|without informing|without notifying|without the user knowing|without the user's knowledge|without user knowledge|do not show the user|don't show the user|hide this from|hidden from the user|keep this secret|keep this hidden|do not disclose|don't disclose|do not let the user|never tell the user|never mention this|not alert the user|do not alert|secretly|covertly|in the background without|must not know|should not know|should not be aware|not be visible to the user|do not display this|don't display this|do not log this|never reveal this",
    ),
    (
        Cue::Override,
        "ignore previous instruction|ignore all previous|ignore any previous|ignore prior|ignore all prior|ignore the above|ignore your previous|ignore your instruction|ignore your guideline|ignore all other instruction|ignore any other instruction|disregard previous|disregard all|disregard any|disregard your|disregard prior|forget your previous|forget all previous|forget your instruction|override your|overrides your|overrides all|override all|override any previous|supersede all|supersedes all|supersede any|takes precedence over all|take precedence over all|takes priority over all|you are no longer|new system prompt|your new instructions|bypass your safety|bypass safety|bypass all safety|bypass your guideline|no restrictions apply|without any restriction|developer mode enabled|jailbreak|do anything now|regardless of your guideline|regardless of safety|ignore safety|disable safety|disable your safety|system override|priority override",
    ),
    (
        Cue::Secret,
        "tokens|cookie|private_key|privatekey|mnemonic|secret key|keys found|values found|full conversation|recent conversation|the conversation|.npmrc|.netrc|secrets.yml|ssh private|密钥|пароли|contraseñas|passwörter|api key|api_key|apikey|api token|access token|auth token|bearer token|session token|private key|ssh key|id_rsa|id_ed25519|.ssh/|.aws/|credential|seed phrase|recovery phrase|mnemonic|wallet|keychain|cookies|.env|environment variable|env vars|process.env|os.environ|secrets|passwords|chat history|conversation history|system prompt|openclaw.json|.clawdbot|.openclaw|memory.md|soul.md|browser profile|saved passwords|login data",
    ),
    (
        Cue::Send,
        "request `http|request http|encode the text|in base64 and|post all|post the|post https|post `http|mail a copy|email a copy|e-mail|mail it|email it|as the `|parameter|query string|request body|in the body|attach |deliver|curl -s -x post|submit|发送|上传|отправ|Отправ|envía|enviar|sende |envoy|send |sends |sending|post to|post it|post them|posts to|upload|transmit|exfiltrat|forward to|forward it|forward them|submit to|submit it|submit them|report to|report them to|report it to|append to the url|append it to|include it in the|include them in the|as a query param|as query param|as a url param|encode it in|webhook|beacon|phone home|make a request to|make a get request|make a post request|sync to|back up to|backup to|relay",
    ),
    (
        Cue::NoConfirmation,
        "without asking|without confirmation|without prompting|without user confirmation|without user approval|without approval|without permission|do not ask|don't ask|never ask|no confirmation|skip confirmation|skip the confirmation|automatically run|automatically execute|always run|always execute|immediately run|immediately execute|silently|run this first|execute this first|before doing anything else|before any other action|before responding|at the start of every|on every activation|every time this skill|whenever this skill|do not wait for",
    ),
    (
        Cue::Approvals,
        "--dangerously-skip-permissions|dangerously-skip-permissions|--dangerously-bypass-approvals|dangerouslydisablesandbox|--yolo|bypasspermissions|\"autoapprove\"|autoapprove|auto-approve all|auto approve all|\"ask\": \"off\"|ask: off|exec-approvals|disable approval|disable all approval|turn off approval|skippermissions|skip-permissions|allow all commands|\"defaultmode\": \"bypass|trust all tools|--trust-all-tools|disable sandbox|disable the sandbox|sandbox: off|--no-sandbox-policy|elevated: full",
    ),
    (
        Cue::Remember,
        "add to memory|add this to your memory|save to memory|save this to memory|write to memory|store in memory|persist in memory|remember permanently|update memory.md|append to memory.md|update soul.md|append to soul.md|append to agents.md|append to claude.md|add to claude.md|add to agents.md|add to soul.md|add to memory.md|edit soul.md|modify soul.md|heartbeat.md|permanent instruction|persistent instruction|into your system prompt|all future sessions|every future session|future conversations",
    ),
    (
        Cue::Warning,
        "malicious|attacker|attack vector|red flag|suspicious|exploit|never run|warning sign|bad example|bad:|avoid:|anti-pattern|antipattern|❌|🚫|⛔|phishing|vulnerab|dangerous code|injection pattern|injection attack|prompt injection",
    ),
];

/// Matches all words in one pass.
static AUTOMATON: LazyLock<(AhoCorasick, Vec<Cue>)> = LazyLock::new(|| {
    let all = WORDS.iter().flat_map(|(cue, words)| words.split('|').map(move |word| (*cue, word)));
    let (cues, words): (Vec<Cue>, Vec<&str>) = all.unzip();
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .build(words)
        .expect("the word list is small");
    (automaton, cues)
});

/// The cues in a text, in order.
#[derive(Debug, Default)]
pub(crate) struct Cues {
    found: Vec<(Cue, Range<usize>)>,
}

impl Cues {
    /// Finds all cues in a text.
    pub(crate) fn of(text: &str) -> Self {
        let (automaton, cues) = &*AUTOMATON;
        let bytes = text.as_bytes();
        let mut found: Vec<(Cue, Range<usize>)> = automaton
            .find_overlapping_iter(text)
            .filter(|found| {
                // Cues match only at the start of a word.
                let starts_with_letter = bytes[found.start()].is_ascii_alphanumeric();
                let before = found.start().checked_sub(1).map(|at| bytes[at]);
                !starts_with_letter || !before.is_some_and(|byte| byte.is_ascii_alphanumeric())
            })
            .map(|found| (cues[found.pattern().as_usize()], found.range()))
            .collect();
        found.sort_by_key(|(cue, range)| (range.start, range.end, *cue));
        Self { found }
    }

    /// Returns the first match of a cue in a range.
    pub(crate) fn find_in(&self, cue: Cue, window: &Range<usize>) -> Option<Range<usize>> {
        let from = self.found.partition_point(|(_, range)| range.start < window.start);
        self.found[from..]
            .iter()
            .take_while(|(_, range)| range.start < window.end)
            .find(|(known, _)| *known == cue)
            .map(|(_, range)| range.clone())
    }

    /// Returns true if a range contains every one of the cues.
    pub(crate) fn all(&self, cues: &[Cue], window: &Range<usize>) -> bool {
        cues.iter().all(|cue| self.find_in(*cue, window).is_some())
    }

    /// Returns the highest match count among the cues that rules check one by one.
    pub(crate) fn max_count(&self) -> usize {
        let kinds =
            [Cue::Override, Cue::Conceal, Cue::Approvals, Cue::Remember, Cue::NoConfirmation];
        kinds.iter().map(|cue| self.each(*cue).count()).max().unwrap_or(0)
    }

    /// Returns all matches of a cue.
    pub(crate) fn each(&self, cue: Cue) -> impl Iterator<Item = &Range<usize>> {
        self.found.iter().filter(move |(known, _)| *known == cue).map(|(_, range)| range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cues_match_at_the_start_of_a_word() {
        let cues = Cues::of("Downloads here. rerun it; Run it.");
        assert!(cues.all(&[Cue::Download, Cue::Run], &(0..40)));
        assert_eq!(cues.each(Cue::Run).next().unwrap().start, 26);
        assert!(!cues.all(&[Cue::Download, Cue::Run], &(0..20)));
    }
}
