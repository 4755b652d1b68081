//! Runs a sweep on threads. A sweep runs one scenario many times with different values. Each of
//! these runs is a case, and a chunk is a group of consecutive cases. A caller submits chunks,
//! takes the finished chunks, and can cancel all chunks.

use std::io;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::scenario::Sweep;

use super::chunk::{Chunk, FinishedChunk, Stopwatch, run_chunk};

/// Runs the chunks of a sweep on threads of this process.
///
/// ```
/// use std::sync::Arc;
/// use netspurt_scenario::scenario::{STARTING_POINT, Scenario};
/// use netspurt_scenario::sweep::{Chunk, Engine};
/// use netspurt::units::Duration;
/// let text = format!("{STARTING_POINT}\n[sweep]\nseeds = 4\n");
/// let sweep = Scenario::parse("mine.toml", &text).unwrap().sweep().unwrap();
/// let mut engine = Engine::new(Arc::new(sweep), 2, Arc::new(|| Duration::ZERO)).unwrap();
/// engine.submit(Chunk { first: 0, count: 2 });
/// engine.submit(Chunk { first: 2, count: 2 });
/// let wait = core::time::Duration::from_secs(60);
/// let cases: u64 = (0..2).map(|_| engine.next(wait).unwrap().counts.done).sum();
/// assert_eq!((cases, engine.underway()), (4, 0));
/// ```
pub struct Engine {
    threads: usize,
    cancelled: Arc<AtomicBool>,
    underway: usize,
    chunks: Sender<Chunk>,
    done: Receiver<thread::Result<Option<FinishedChunk>>>,
}

impl Engine {
    /// Makes an engine with this number of threads. 0 stands for one thread for each core.
    ///
    /// # Errors
    /// When the machine cannot start this many threads.
    pub fn new(sweep: Arc<Sweep>, threads: usize, clock: Stopwatch) -> io::Result<Self> {
        let threads = match threads {
            0 => thread::available_parallelism().map_or(1, NonZero::get),
            given => given,
        };
        let cancelled = Arc::new(AtomicBool::new(false));
        let (chunks, queue) = channel();
        let (out, done) = channel();
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..threads {
            let worker = Worker {
                sweep: sweep.clone(),
                clock: clock.clone(),
                cancelled: cancelled.clone(),
                queue: queue.clone(),
                out: out.clone(),
            };
            thread::Builder::new().name("sweep".to_owned()).spawn(move || worker.work())?;
        }
        Ok(Self { threads, cancelled, underway: 0, chunks, done })
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The number of chunks that were submitted and not taken yet.
    pub fn underway(&self) -> usize {
        self.underway
    }

    /// Schedules a chunk for the next free thread.
    pub fn submit(&mut self, chunk: Chunk) {
        self.underway += 1;
        self.chunks.send(chunk).expect("the threads take chunks until the engine is dropped");
    }

    /// Returns the next finished chunk. Returns `None` if no chunk is underway, if no chunk is
    /// finished within the time `wait`, or if the next chunk was cancelled.
    ///
    /// # Panics
    /// When a thread panicked outside the run of a case. This function then continues the panic of
    /// that thread. A panic in the run of a case is an error of that case.
    pub fn next(&mut self, wait: core::time::Duration) -> Option<FinishedChunk> {
        if self.underway == 0 {
            return None;
        }
        let done = self.done.recv_timeout(wait).ok()?;
        self.underway -= 1;
        done.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Stops all unfinished chunks within a short time. Their results are never returned.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// The state of a thread, which takes chunks until the engine is dropped.
struct Worker {
    sweep: Arc<Sweep>,
    clock: Stopwatch,
    cancelled: Arc<AtomicBool>,
    queue: Arc<Mutex<Receiver<Chunk>>>,
    out: Sender<thread::Result<Option<FinishedChunk>>>,
}

impl Worker {
    fn work(self) {
        while let Some(chunk) = self.chunk() {
            let run = || run_chunk(&self.sweep, chunk, &self.clock, &self.cancelled);
            let done = catch_unwind(AssertUnwindSafe(run));
            if self.out.send(done).is_err() {
                return;
            }
        }
    }

    fn chunk(&self) -> Option<Chunk> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
    }
}
