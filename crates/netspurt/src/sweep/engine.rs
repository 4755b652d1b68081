//! Chunks on threads: submitted, taken as they are done, cancelled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use crate::scenario::Sweep;

use super::chunk::{Chunk, Clock, Done, run_chunk};

/// A sweep's engine on the threads of this process.
///
/// ```
/// use std::sync::Arc;
/// use netspurt::scenario::{STARTING_POINT, Scenario};
/// use netspurt::sweep::{Chunk, Engine};
/// use netspurt::units::Duration;
/// let text = format!("{STARTING_POINT}\n[sweep]\nseeds = 4\n");
/// let sweep = Scenario::parse("mine.toml", &text).unwrap().sweep().unwrap();
/// let mut engine = Engine::new(Arc::new(sweep), 2, Arc::new(|| Duration::ZERO)).unwrap();
/// engine.submit(Chunk { first: 0, count: 2 });
/// engine.submit(Chunk { first: 2, count: 2 });
/// let patience = core::time::Duration::from_secs(60);
/// let cases: u64 = (0..2).map(|_| engine.next(patience).unwrap().counts.done).sum();
/// assert_eq!((cases, engine.underway()), (4, 0));
/// ```
pub struct Engine {
    sweep: Arc<Sweep>,
    clock: Clock,
    pool: ThreadPool,
    cancelled: Arc<AtomicBool>,
    underway: usize,
    out: Sender<Option<Done>>,
    done: Receiver<Option<Done>>,
}

impl Engine {
    /// An engine with so many threads; 0 for one a core.
    ///
    /// # Errors
    /// When the machine has no room for so many threads.
    pub fn new(
        sweep: Arc<Sweep>,
        threads: usize,
        clock: Clock,
    ) -> Result<Self, ThreadPoolBuildError> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        let (out, done) = channel();
        let cancelled = Arc::new(AtomicBool::new(false));
        Ok(Self { sweep, clock, pool, cancelled, underway: 0, out, done })
    }

    /// How many threads it has.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// How many chunks were submitted and not taken yet.
    pub fn underway(&self) -> usize {
        self.underway
    }

    /// Has a chunk run as soon as a thread is free.
    pub fn submit(&mut self, chunk: Chunk) {
        self.underway += 1;
        let (sweep, clock) = (self.sweep.clone(), self.clock.clone());
        let (cancelled, out) = (self.cancelled.clone(), self.out.clone());
        self.pool.spawn_fifo(move || {
            // Nobody listens any more once the engine is gone.
            let _ = out.send(run_chunk(&sweep, chunk, &clock, &cancelled));
        });
    }

    /// The next chunk that is done, waited for as long as `patience`; `None` where there was none.
    pub fn next(&mut self, patience: core::time::Duration) -> Option<Done> {
        if self.underway == 0 {
            return None;
        }
        let done = self.done.recv_timeout(patience).ok()?;
        self.underway -= 1;
        done
    }

    /// Ends every chunk within moments; none of them is handed out any more.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.cancel();
    }
}
