//! How fast agents are asked: how many at once, with which pauses, and how long to wait when one
//! says that it is asked too often.

use rrc_vm::text::field;
use rrc_vm::value::Value;

/// How often a question that was refused is asked again.
const MOST_REFUSALS: u32 = 5;
/// How much of what an agent wrote is looked at.
const LOOKED_AT: usize = 4000;

/// What a recipe says about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    pub width: Option<u32>,
    pub pause_ms: u64,
    pub backoff: Option<Backoff>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Backoff {
    first_ms: u64,
    longest_ms: u64,
    growth: f64,
    calm: u32,
}

impl Default for Pace {
    /// Nothing is held back; who is refused waits for the time that services commonly ask for.
    fn default() -> Pace {
        Pace {
            width: None,
            pause_ms: 0,
            backoff: Some(Backoff {
                first_ms: 10_000,
                longest_ms: 300_000,
                growth: 2.0,
                calm: 1,
            }),
        }
    }
}

impl Pace {
    /// The pace that a call asks for.
    pub fn of(value: &Value) -> Pace {
        if !matches!(value, Value::Map(_)) {
            return Pace::default();
        }
        let number = |of: &Value, name: &str| match field(of, name) {
            Some(Value::Int(number)) => u64::try_from(*number).ok(),
            _ => None,
        };
        let backoff = field(value, "backoff").filter(|of| matches!(of, Value::Map(_)));
        Pace {
            width: number(value, "width").and_then(|width| u32::try_from(width).ok()),
            pause_ms: number(value, "pause_ms").unwrap_or(0),
            backoff: backoff.map(|of| Backoff {
                first_ms: number(of, "first_ms").unwrap_or(1000),
                longest_ms: number(of, "longest_ms").unwrap_or(60_000),
                growth: match field(of, "growth") {
                    Some(Value::Float(growth)) if *growth >= 1.0 => *growth,
                    _ => 2.0,
                },
                calm: number(of, "calm").map_or(3, |calm| u32::try_from(calm).unwrap_or(3)),
            }),
        }
    }
}

/// How it goes: times are milliseconds of one clock.
#[derive(Debug, Default)]
pub struct Paces {
    running: u32,
    last_end_ms: Option<u64>,
    /// The pause after the next refusal, and the answers since the last one.
    pause_ms: u64,
    answers: u32,
}

impl Paces {
    /// Milliseconds until another question may be asked: 0 for now, none if one must end first.
    pub fn wait(&self, pace: &Pace, now_ms: u64) -> Option<u64> {
        if pace.width.is_some_and(|width| self.running >= width.max(1)) {
            return None;
        }
        let next = self
            .last_end_ms
            .map_or(0, |end| end.saturating_add(pace.pause_ms));
        Some(next.saturating_sub(now_ms))
    }

    pub fn start(&mut self) {
        self.running += 1;
    }

    /// A question has ended somehow.
    pub fn end(&mut self, now_ms: u64) {
        self.running = self.running.saturating_sub(1);
        self.last_end_ms = Some(now_ms);
    }

    /// A question was answered.
    pub fn answered(&mut self, pace: &Pace) {
        self.answers = self.answers.saturating_add(1);
        let calm = pace.backoff.as_ref().map_or(1, |backoff| backoff.calm);
        if self.answers >= calm {
            self.pause_ms = 0;
        }
    }

    /// A question was refused, for this time in a row: how long to wait before it is asked again,
    /// if it is.
    pub fn refused(&mut self, pace: &Pace, times: u32) -> Option<u64> {
        let backoff = pace.backoff.as_ref().filter(|_| times <= MOST_REFUSALS)?;
        self.answers = 0;
        let pause = self.pause_ms.max(backoff.first_ms).min(backoff.longest_ms);
        self.pause_ms = ((pause as f64 * backoff.growth) as u64).min(backoff.longest_ms);
        Some(pause)
    }
}

/// Whether what a program wrote before it failed says that it was asked too often.
pub fn is_refusal(stdout: &[u8], stderr: &[u8]) -> bool {
    [stdout, stderr].into_iter().any(|bytes| {
        let end = &bytes[bytes.len().saturating_sub(LOOKED_AT)..];
        let text = String::from_utf8_lossy(end).to_lowercase();
        text.lines().any(says_so)
    })
}

fn says_so(line: &str) -> bool {
    const WORDS: [&str; 6] = [
        "rate limit",
        "rate-limit",
        "rate_limit",
        "ratelimit",
        "too many requests",
        "usage limit reached",
    ];
    // The number alone may be anything: a line, an issue.
    let status = || {
        let about = ["http", "status", "api"];
        let mut words = line
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty());
        let mut before = "";
        words.any(|word| {
            let named =
                matches!(before, "" | "error" | "code") || about.iter().any(|a| line.contains(a));
            before = word;
            word == "429" && named
        })
    };
    WORDS.iter().any(|word| line.contains(word)) || status()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_from_a_number() {
        for text in [
            "Error: Rate limit exceeded, try later",
            "HTTP 429",
            "API Error: 429 {\"type\":\"error\"}",
            "status=429",
            "429",
            "Error 429: slow down",
            "failed (code: 429)",
            "Too Many Requests",
        ] {
            assert!(is_refusal(b"", text.as_bytes()), "{text}");
            assert!(is_refusal(text.as_bytes(), b""), "{text}");
        }
        for text in [
            "main.rs:429: mismatched types",
            "see ticket 429",
            "error: main.rs:429: mismatched types",
            "api call 14290 failed",
            "",
        ] {
            assert!(!is_refusal(text.as_bytes(), text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn pauses_grow_while_agents_refuse_and_shrink_when_they_answer() {
        let pace = Pace {
            width: Some(1),
            pause_ms: 50,
            backoff: Some(Backoff {
                first_ms: 100,
                longest_ms: 300,
                growth: 2.0,
                calm: 2,
            }),
        };
        let mut paces = Paces::default();
        assert_eq!(paces.wait(&pace, 7), Some(0));
        paces.start();
        assert_eq!(paces.wait(&pace, 8), None);
        paces.end(10);
        assert_eq!(paces.wait(&pace, 20), Some(40));
        assert_eq!(paces.wait(&pace, 60), Some(0));
        let pauses = (1..=6).map(|times| paces.refused(&pace, times));
        let expected = [Some(100), Some(200), Some(300), Some(300), Some(300), None];
        assert_eq!(pauses.collect::<Vec<_>>(), expected);
        paces.answered(&pace);
        assert_eq!(paces.refused(&pace, 1), Some(300));
        paces.answered(&pace);
        paces.answered(&pace);
        assert_eq!(paces.refused(&pace, 1), Some(100));
        let never = Pace {
            backoff: None,
            ..pace
        };
        assert_eq!(paces.refused(&never, 1), None);
    }
}
