//! Refusals: rules and connection slots.

use plimsoll_core::Nanos;
use plimsoll_core::outcome::Outcome;
use plimsoll_core::statistics::{median, ratio};
use plimsoll_core::units::{percent, three_digits};
use plimsoll_core::verdict::{Cause, Signal};

use super::closing;
use super::loss::{Model, in_service, lost_by};
use crate::explain::case::{Case, Tier};
use crate::explain::finding::Finding;
use crate::facts::level::{FAILING, Level, NO_ANSWER, WindowFacts};
use crate::facts::tick::TierFacts;

/// A configured refusal: answers at once, at a rate that does not move, from an idle service.
pub(super) fn rule(case: &Case, tier: &Tier) -> Option<Finding> {
    let sheds = |level: &Level| level.share(&[Outcome::Shed]) >= 0.03;
    let mut shedding: Vec<&Level> = case.high().filter(|level| sheds(level)).collect();
    if shedding.is_empty() {
        // A short search ends near the limit, where hardly any are refused: the closed loop that it began with was beyond it.
        let beyond = case.levels.iter().filter(|level| level.closed.is_some());
        shedding = beyond.filter(|level| sheds(level)).collect();
    }
    // Users that are refused at once ask again at once: how many depends on them.
    if shedding.iter().any(|level| level.closed.is_none()) {
        shedding.retain(|level| level.closed.is_none());
    }
    let by_offered = |a: &&&Level, b: &&&Level| a.offered.total_cmp(&b.offered);
    let most = shedding.iter().max_by(by_offered)?;
    // What else is full is seen where refusals begin: far beyond, the refusals themselves fill the processor.
    let mildest = shedding.iter().min_by(by_offered)?;
    let there = case.at_level(mildest, tier);
    let others = most.failed_share() - most.share(&[Outcome::Shed]);
    if others > 0.3 * most.failed_share() {
        return None;
    }
    // A refusal by need makes clients wait first: in a pool's queue or behind other work.
    let time = |level: &Level, outcome| level.tally.class(outcome).service.quantile(0.5);
    let refused_in = time(mildest, Outcome::Shed)?.as_secs_f64();
    let base = case.base_service();
    let at_once = base.is_none_or(|base| refused_in <= 3.0 * base + 0.002);
    let ok_now = mildest.served_service().map(Nanos::as_secs_f64);
    let still_fast = base
        .zip(ok_now)
        .is_none_or(|(base, now)| now <= 3.0 * base + 0.005);
    let busy = there.ticks > 0 && !there.has_idle_processor();
    if !at_once || !still_fast || busy {
        return None;
    }
    let model = lost_by(case, &shedding, &[Outcome::Shed]);
    let by_number = matches!(model, Some(Model::Number { .. }));
    let cause = if by_number {
        Cause::Concurrency
    } else {
        Cause::Rule
    };
    let mut finding = Finding::new(cause, tier);
    finding.unsure = matches!(model, None | Some(Model::Either));
    finding.signal(
        Signal::Refusals,
        format!(
            "{} of attempts refused with 429 or 503 within {}",
            percent(most.share(&[Outcome::Shed])),
            Nanos::from_secs_f64(refused_in)
        ),
    );
    if passes(&shedding, model, &mut finding)? {
        if let Some((base, now)) = base.zip(ok_now) {
            let text = format!(
                "what passes is as fast as ever: {}, {} at low load",
                Nanos::from_secs_f64(now),
                Nanos::from_secs_f64(base)
            );
            finding.signal(Signal::NoQueue, text);
        }
        if there.ticks > 0 {
            finding.signal(Signal::Idle, idle_line(&there));
        }
    }
    Some(finding)
}

/// What passes beside the refusals, as `model` says that they come about; whether more can speak for a rate.
fn passes(shedding: &[&Level], model: Option<Model>, finding: &mut Finding) -> Option<bool> {
    let passed: Vec<f64> = shedding.iter().map(|level| level.served).collect();
    let middle = median(passed.clone())?;
    let per_s = three_digits(middle);
    match model {
        Some(Model::Number { count, shares }) => {
            finding.ceiling = Some(middle);
            finding.signal(Signal::Plateau, shares);
            let text = format!("{per_s}/s × the time without load: {count} in service at most");
            finding.signal(Signal::Little, text);
            return Some(false);
        }
        // What is refused could be a rate as well as a number at once: no second signal for either.
        Some(Model::Either) => {
            let text =
                format!("{per_s}/s pass; a limit on requests served at once would refuse as many");
            finding.signal(Signal::Refusals, text);
            return Some(false);
        }
        None => {
            let text = format!(
                "{per_s}/s pass; too few loads were compared to tell a rate from a limit on requests served at once"
            );
            finding.signal(Signal::Refusals, text);
            return Some(false);
        }
        Some(Model::Rate { .. }) => {}
    }
    let steady = passed
        .iter()
        .filter(|ok| (ratio(**ok, middle) - 1.0).abs() <= 0.15);
    if passed.len() >= 2 && steady.count() * 4 >= passed.len() * 3 {
        let text = format!("{per_s}/s pass whatever is offered");
        finding.signal(Signal::ConstantRate, text);
        finding.ceiling = Some(middle);
    }
    Some(true)
}

pub(super) fn idle_line(facts: &TierFacts) -> String {
    format!(
        "the busiest thread is {} busy, all together {} of {} cores",
        percent(facts.busiest()),
        three_digits(facts.run),
        three_digits(facts.capacity())
    )
}

/// D.3 4a: attempts end without an answer while the processor is idle, or not full where all declared slots are taken.
pub(super) fn slots(case: &Case, tier: &Tier) -> Option<Finding> {
    // Clients whose request fails at once ask again at once, and that fills a processor: what counts is how the
    // tier was when it began.
    let onset = case.at_onset(tier, WindowFacts::unanswered);
    let there = onset.as_ref().unwrap_or(&tier.high);
    // A process that died takes its connections with it.
    if case.has_ended(tier) {
        return None;
    }
    let met = declared(case, tier);
    let is_filled = match &onset {
        // Where the declared ones are all taken, only a processor with nothing to spare is the better reason.
        Some(then) if met.is_some() => then.is_full(),
        Some(then) => !then.had_room(),
        None => tier.is_filled(),
    };
    if is_filled {
        return None;
    }
    let mut finding = Finding::new(Cause::ConnectionSlots, tier);
    let worst = case
        .high()
        .max_by(|a, b| a.share(&NO_ANSWER).total_cmp(&b.share(&NO_ANSWER)))?;
    let share = worst.share(&NO_ANSWER);
    let low = median(case.low().map(|level| level.share(&NO_ANSWER)).collect()).unwrap_or(0.0);
    if share >= FAILING && low < 0.2 * share && share >= 0.4 * worst.failed_share() {
        finding.signal(
            Signal::NoAnswer,
            format!(
                "{} of attempts end without an answer ({})",
                percent(share),
                kinds(worst)
            ),
        );
    }
    if let Some(proxy) = &tier.high.proxy {
        let unreached = ratio(proxy.upstream_unreached as f64, proxy.requests as f64);
        if unreached >= FAILING {
            let text = format!(
                "{} of logged requests never reached the upstream",
                percent(unreached)
            );
            finding.signal(Signal::UpstreamNotReached, text);
        }
    }
    if finding.evidence.is_empty() {
        return None;
    }
    plateau(case, there, &mut finding);
    if let Some(text) = met {
        finding.signal(Signal::DeclaredSlots, text);
    }
    still_fast(case, worst, &mut finding);
    accepting(case, tier, &mut finding);
    closing::or_rule(case, tier, finding)
}

/// What the kernel says of a tier that accepts no more connections.
fn accepting(case: &Case, tier: &Tier, finding: &mut Finding) {
    if let Some(share) = tier.high.files_share.filter(|share| *share >= 0.95) {
        let text = format!("{} of the descriptor limit in use", percent(share));
        finding.signal(Signal::Descriptors, text);
    }
    if tier.high.accept_full >= 0.3 {
        let text = format!(
            "the accept queue is full in {} of samples",
            percent(tier.high.accept_full)
        );
        finding.signal(Signal::AcceptQueue, text);
    }
    let (high, low) = (case.host_high.drops_per_s, case.host_low.drops_per_s);
    if high >= 1.0 && high >= 3.0 * low {
        let text = format!(
            "the listener drops {} connections per second",
            three_digits(high)
        );
        finding.signal(Signal::ListenerDrops, text);
    }
}

/// A queue would slow down what is answered; a limit on connections does not.
fn still_fast(case: &Case, worst: &Level, finding: &mut Finding) {
    let times = case.base_service().zip(worst.served_service());
    if let Some((base, now)) = times
        && now.as_secs_f64() <= 1.5 * base
    {
        let text = format!(
            "what is answered is as fast as ever: {now}, {} at low load",
            Nanos::from_secs_f64(base)
        );
        finding.signal(Signal::NoQueue, text);
    }
}

fn kinds(level: &Level) -> String {
    let named: Vec<String> = NO_ANSWER
        .iter()
        .filter(|outcome| level.tally.class(**outcome).count > 0)
        .map(|outcome| format!("{} {}", outcome.name(), level.tally.class(*outcome).count))
        .collect();
    named.join(", ")
}

/// As many are in service where the first attempts end without an answer as the experiment says that the tier's slots carry.
/// The first, because those that fail soon crowd out the others, and when they leave all come at once.
fn declared(case: &Case, tier: &Tier) -> Option<String> {
    let bound = tier.slots.filter(|bound| *bound > 0.0)?;
    let failing = case
        .high()
        .filter(|level| level.share(&NO_ANSWER) >= FAILING);
    let first = failing.filter_map(in_service).take(3);
    let served = first.fold(0.0, f64::max);
    (0.75..=1.15).contains(&(served / bound)).then(|| {
        format!(
            "{} requests in service when the first attempts ended without an answer; the declared slots carry {}",
            three_digits(served),
            three_digits(bound)
        )
    })
}

/// Requests in service stop rising while more are offered, or more users ask.
fn plateau(case: &Case, there: &TierFacts, finding: &mut Finding) {
    let open = case.high().any(|level| level.closed.is_none());
    let levels: Vec<&Level> = case
        .high()
        .filter(|level| level.closed.is_none() == open)
        .collect();
    let served: Vec<f64> = levels
        .iter()
        .filter_map(|level| in_service(level))
        .collect();
    let offered = levels
        .iter()
        .map(|level| level.closed.map_or(level.offered, f64::from));
    let (least, most) = offered.fold((f64::INFINITY, 0.0), |(a, b), x| (x.min(a), x.max(b)));
    let per = if open { "per second" } else { "users" };
    let Some(middle) = median(served.clone()) else {
        return;
    };
    let near = served
        .iter()
        .filter(|n| (ratio(**n, middle) - 1.0).abs() <= 0.15)
        .count();
    if served.len() >= 2 && near * 4 >= served.len() * 3 && most >= 1.15 * least && middle >= 4.0 {
        finding.signal(
            Signal::Plateau,
            format!(
                "{} requests in service at {} as at {} {per}; {} ({})",
                three_digits(middle),
                three_digits(least),
                three_digits(most),
                if there.had_room() {
                    "processor idle"
                } else {
                    "processor not full"
                },
                idle_line(there)
            ),
        );
        // Users that wait take longer than at low load for other reasons too: there N tells no rate.
        if let Some(base) = case.base_service().filter(|base| open && *base > 0.0) {
            finding.ceiling = Some(middle / base);
        }
    }
}
