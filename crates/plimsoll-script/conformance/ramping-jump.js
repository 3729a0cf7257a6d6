/* { "does": "stages that go down and up at one moment bring nobody back whom no grace lets go on", "slept_ms": 200 } */
import { sleep } from 'k6';
export const options = {
  scenarios: {
    jump: {
      executor: 'ramping-vus', startVUs: 4, gracefulRampDown: '0s', gracefulStop: '0s',
      stages: [
        { duration: '300ms', target: 4 }, { duration: '0s', target: 0 }, { duration: '0s', target: 4 },
        { duration: '700ms', target: 4 },
      ],
    },
  },
};
export default function () {
  sleep(0.2);
}
