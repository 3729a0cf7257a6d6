// Clients with a timeout of a second and three retries, at 70 % of the service's capacity, with three times as many for 30 s:
//   plimsoll run storm.js -e BASE=http://127.0.0.1:3000       k6 run -e BASE=http://127.0.0.1:3000 storm.js
import http from 'k6/http';
import exec from 'k6/execution';
import { Rate } from 'k6/metrics';

const BEFORE_S = 15;
const TRIGGER_S = 30;
// So long after the trigger it must be as before.
const GRACE_S = 10;
const RATE = 140;
const TRIGGER_RATE = 420;
const TRIES = 4;

const before = new Rate('answered_before');
const during = new Rate('answered_during_the_trigger');
const grace = new Rate('answered_in_the_10_s_after_it');
const after = new Rate('answered_from_then_on');

export const options = {
  scenarios: {
    clients: {
      executor: 'ramping-arrival-rate',
      startRate: RATE,
      timeUnit: '1s',
      preAllocatedVUs: 400,
      maxVUs: 2000,
      gracefulStop: '5s',
      stages: [
        { target: RATE, duration: `${BEFORE_S}s` },
        { target: TRIGGER_RATE, duration: '0s' },
        { target: TRIGGER_RATE, duration: `${TRIGGER_S}s` },
        { target: RATE, duration: '0s' },
        { target: RATE, duration: '45s' },
      ],
    },
  },
};

function phase(seconds) {
  if (seconds < BEFORE_S) return before;
  if (seconds < BEFORE_S + TRIGGER_S) return during;
  return seconds < BEFORE_S + TRIGGER_S + GRACE_S ? grace : after;
}

export default function () {
  const begun = phase(exec.instance.currentTestRunDuration / 1000);
  let answered = false;
  for (let left = TRIES; left > 0 && !answered; left -= 1) {
    answered = http.get(`${__ENV.BASE}/`, { timeout: '1s' }).status === 200;
  }
  begun.add(answered);
}
