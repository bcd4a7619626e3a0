//! The limit of open descriptors: as high as can be for rrc, as it was for its children.

use std::os::fd::RawFd;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit};

/// How many descriptors this process and its children may open.
#[derive(Debug)]
pub struct DescriptorLimit {
    own: Rlimit,
    children: Rlimit,
}

impl DescriptorLimit {
    /// Raises the limit of this process to what the system allows, once.
    pub fn raised() -> &'static DescriptorLimit {
        static LIMIT: OnceLock<DescriptorLimit> = OnceLock::new();
        LIMIT.get_or_init(|| {
            let children = rustix::process::getrlimit(Resource::Nofile);
            let most = match cfg!(target_os = "macos") {
                // The kernel refuses more than OPEN_MAX there, whatever the hard limit says.
                true => children
                    .maximum
                    .map_or(Some(10_240), |most| Some(most.min(10_240))),
                false => children.maximum,
            };
            let wanted = Rlimit {
                current: most,
                maximum: children.maximum,
            };
            let raised = rustix::process::setrlimit(Resource::Nofile, wanted).is_ok();
            DescriptorLimit {
                own: if raised { wanted } else { children },
                children,
            }
        })
    }

    /// How many descriptors this process may have.
    pub fn own(&self) -> usize {
        let most = self.own.current.unwrap_or(u64::MAX);
        usize::try_from(most).unwrap_or(usize::MAX)
    }

    /// What a child must be given, if that is not what this process has by now: programs that use
    /// select(2), or close every possible descriptor, suffer from a raised limit.
    pub(super) fn of_children(&self) -> Option<Rlimit> {
        (self.own != self.children).then_some(self.children)
    }

    /// Runs `start` under the limit of children, for systems where a child cannot be given another.
    /// `highest` is the highest descriptor that `start` hands over.
    pub(super) fn as_given<T>(&self, highest: RawFd, start: impl FnOnce() -> T) -> T {
        let most = self.children.current;
        // The C library refuses to hand over descriptors above the limit.
        let allowed = most.is_none_or(|most| (highest as u64) < most);
        if !allowed || self.of_children().is_none() {
            return start();
        }
        let _ = rustix::process::setrlimit(Resource::Nofile, self.children);
        let started = start();
        let _ = rustix::process::setrlimit(Resource::Nofile, self.own);
        started
    }
}
