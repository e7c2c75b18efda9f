//! Which moment of a run the replay shows. Pure: the program says how much time has passed.

use fiord_types::Nanos;

use crate::controls::LiveWish;

/// How fast a replay can be, in seconds of the run per second: powers of two.
const SLOWEST: i32 = -3;
const FASTEST: i32 = 16;

/// At first, the replay of a run takes at most this time.
const USUAL: Nanos = Nanos::from_secs(60);

/// Minimum time between two changes of the screen. A fast replay skips windows.
const MIN_CHANGE: Nanos = Nanos::from_millis(50);

/// Keys go back and forward by this share of the run.
const SHARE: usize = 20;

/// The position of a replay.
#[derive(Debug, Clone)]
pub struct ReplayPlayer {
    /// The length of each window.
    lengths: Vec<Nanos>,
    /// How many windows are shown.
    position: usize,
    /// The exponent of the speed.
    speed: i32,
    playing: bool,
    /// Time of the run since the end of the last window that is shown.
    ahead: f64,
}

impl ReplayPlayer {
    /// Begins to play windows of these lengths, as fast as the run was, or faster by a power of two, so that a long
    /// run takes at most a minute. `speed`: the speed that the user wants instead; the nearest power of two is taken.
    #[must_use]
    pub fn new(lengths: Vec<Nanos>, speed: Option<f64>) -> Self {
        let all: f64 = lengths.iter().map(|length| length.as_secs_f64()).sum();
        let speed = match speed {
            Some(speed) => speed.log2().round(),
            None => (all / USUAL.as_secs_f64()).log2().ceil().max(0.0),
        };
        let speed = (speed as i32).clamp(SLOWEST, FASTEST);
        ReplayPlayer { lengths, position: 0, speed, playing: true, ahead: 0.0 }
    }

    /// How many windows are shown.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Whether the replay stands still before the end of the run.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        !self.playing && !self.is_at_end()
    }

    fn is_at_end(&self) -> bool {
        self.position >= self.lengths.len()
    }

    fn factor(&self) -> f64 {
        f64::from(self.speed).exp2()
    }

    /// What the replay is doing, in words.
    #[must_use]
    pub fn words(&self) -> String {
        match self.is_at_end() {
            true => "end of the run (Space: again)".to_owned(),
            false => format!("replay, speed {}x", self.factor()),
        }
    }

    /// Lets time pass. Returns whether another moment is shown.
    pub fn advance(&mut self, passed: Nanos) -> bool {
        if !self.playing {
            return false;
        }
        let before = self.position;
        self.ahead += passed.as_secs_f64() * self.factor();
        while let Some(length) = self.lengths.get(self.position).map(|length| length.as_secs_f64())
        {
            if self.ahead < length {
                break;
            }
            self.ahead -= length;
            self.position += 1;
        }
        if self.is_at_end() {
            self.playing = false;
        }
        self.position != before
    }

    /// When [`ReplayPlayer::advance`] shows another moment. `None`: not by itself.
    #[must_use]
    pub fn next_change(&self) -> Option<Nanos> {
        let length = self.lengths.get(self.position).filter(|_| self.playing)?;
        let left = (length.as_secs_f64() - self.ahead).max(0.0) / self.factor();
        Some(Nanos((left * 1e9) as u64).max(MIN_CHANGE))
    }

    /// Does what a key asks for.
    pub fn wish(&mut self, wish: LiveWish) {
        let step = (self.lengths.len() / SHARE).max(1);
        match wish {
            LiveWish::Pause if self.is_at_end() => {
                self.go(0);
                self.playing = true;
            }
            LiveWish::Pause => self.playing = !self.playing,
            LiveWish::Faster => self.speed = (self.speed + 1).min(FASTEST),
            LiveWish::Slower => self.speed = (self.speed - 1).max(SLOWEST),
            LiveWish::Back => self.go(self.position.saturating_sub(step)),
            LiveWish::Forward => self.go(self.position + step),
            LiveWish::StepBack | LiveWish::StepForward => {
                self.playing = false;
                self.go(match wish {
                    LiveWish::StepBack => self.position.saturating_sub(1),
                    _ => self.position + 1,
                });
            }
            LiveWish::Jump(tenths) => {
                self.go(self.lengths.len() * usize::from(tenths.min(10)) / 10);
            }
            LiveWish::End | LiveWish::Redraw => {}
        }
    }

    fn go(&mut self, position: usize) {
        self.position = position.min(self.lengths.len());
        self.ahead = 0.0;
        if self.is_at_end() {
            self.playing = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(count: usize, speed: Option<f64>) -> ReplayPlayer {
        ReplayPlayer::new(vec![Nanos::from_secs(1); count], speed)
    }

    #[test]
    fn windows_take_their_time_divided_by_the_speed() {
        let mut player = seconds(10, None);
        assert!(!player.advance(Nanos::from_millis(750)));
        assert_eq!(player.next_change(), Some(Nanos::from_millis(250)));
        assert!(player.advance(Nanos::from_millis(250)));
        assert_eq!(player.position(), 1);
        player.wish(LiveWish::Faster);
        player.wish(LiveWish::Faster);
        assert_eq!(player.words(), "replay, speed 4x");
        assert!(player.advance(Nanos::from_secs(1)));
        assert_eq!(player.position(), 5);
        (0..9).for_each(|_| player.wish(LiveWish::Slower));
        assert_eq!(player.words(), "replay, speed 0.125x");
        assert_eq!(player.next_change(), Some(Nanos::from_secs(8)));
    }

    #[test]
    fn a_long_run_takes_at_most_a_minute_and_skips_windows() {
        let player = seconds(3600, None);
        assert_eq!(player.words(), "replay, speed 64x");
        assert_eq!(player.next_change(), Some(MIN_CHANGE));
        assert_eq!(seconds(3600, Some(1.0)).words(), "replay, speed 1x");
        assert_eq!(seconds(10, Some(5.0)).words(), "replay, speed 4x");
        assert_eq!(seconds(10, Some(0.0)).words(), "replay, speed 0.125x");
        assert_eq!(seconds(10, Some(f64::INFINITY)).words(), "replay, speed 65536x");
    }

    #[test]
    fn keys_pause_step_and_seek_and_the_end_stays() {
        let mut player = seconds(100, Some(1.0));
        player.wish(LiveWish::Pause);
        assert!(player.is_paused() && !player.advance(Nanos::from_secs(50)));
        assert_eq!(player.next_change(), None);
        player.wish(LiveWish::StepForward);
        player.wish(LiveWish::StepForward);
        player.wish(LiveWish::StepBack);
        assert_eq!((player.position(), player.is_paused()), (1, true));
        player.wish(LiveWish::Forward);
        assert_eq!(player.position(), 6);
        player.wish(LiveWish::Back);
        player.wish(LiveWish::Back);
        assert_eq!(player.position(), 0);
        player.wish(LiveWish::Jump(5));
        assert_eq!(player.position(), 50);
        player.wish(LiveWish::Pause);
        assert!(player.advance(Nanos::from_secs(1000)));
        assert_eq!((player.position(), player.next_change()), (100, None));
        assert!(player.words().starts_with("end of the run"));
        player.wish(LiveWish::Forward);
        assert_eq!(player.position(), 100);
        player.wish(LiveWish::Pause);
        assert_eq!((player.position(), player.is_paused()), (0, false));
    }
}
