/* { "does": "expectedStatuses without a status is refused", "load_error": "needs statuses", "exit": 107 } */
import http from 'k6/http';
http.expectedStatuses();
export default function () {
  return;
}
