/* { "does": "constants of the module", "console": ["tls1.2 good undefined"] } */
import http from 'k6/http';
export default function () {
  console.log(http.TLS_1_2, http.OCSP_STATUS_GOOD, http.nope);
}
