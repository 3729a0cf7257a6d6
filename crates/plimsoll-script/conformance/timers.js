/* { "own_context": "promises", "does": "timers run after the function, in the order of their time, and the iteration waits for them", "k6": "times", "console": ["now", "micro 1", "b 10", "tick 40", "a 50", "tick 60"], "slept_ms": 60 } */
import { setInterval, clearInterval } from 'k6/timers';
import exec from 'k6/execution';
const at = () => exec.instance.currentTestRunDuration;
export default function () {
  setTimeout((x) => console.log(x, at()), 50, 'a');
  setTimeout(() => console.log('b', at()), 10);
  const cancelled = setTimeout(() => console.log('never'), 20);
  clearTimeout(cancelled);
  let ticks = 0;
  const every = setInterval(() => { if (ticks > 0) console.log('tick', at()); ticks += 1; if (ticks > 2) clearInterval(every); }, 20);
  Promise.resolve(1).then((one) => console.log('micro', one));
  console.log('now');
}
