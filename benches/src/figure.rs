//! A figure: a measured value, with its peer's value.

use serde::{Deserialize, Serialize};

use crate::cache_line::Distance;
use crate::distribution::Distribution;
use crate::statistics::median;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Figure {
    /// Path, from the suite downwards: `loopback/round-trip/shm/uromd/1-host/1`.
    pub(crate) name: String,
    /// Unit of both values: `ns`, `/s`, `instructions` and so on.
    pub(crate) unit: String,
    #[serde(flatten)]
    pub(crate) kit: Measured,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) peer: Option<Peer>,
    /// Ratio to the peer's value: the median over the launches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ratio: Option<f64>,
    /// Restricts the figure to the launches on these cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cores: Option<Distance>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Peer {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) of: Measured,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Measured {
    pub(crate) value: f64,
    pub(crate) launches: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) histogram: Option<Distribution>,
}

impl Measured {
    fn new(value: f64) -> Measured {
        Measured { value, launches: vec![value], histogram: None }
    }

    pub(crate) fn spread(&self) -> Option<[f64; 2]> {
        let [least, most] =
            [f64::min, f64::max].map(|end| self.launches.iter().copied().reduce(end));
        least.zip(most).filter(|(least, most)| least < most).map(<[f64; 2]>::from)
    }

    fn merged(launches: &[&Measured]) -> Measured {
        let values: Vec<f64> = launches.iter().map(|launch| launch.value).collect();
        let histograms = launches.iter().filter_map(|launch| launch.histogram.as_ref());
        Measured {
            value: median(&values).unwrap_or_default(),
            histogram: Distribution::sum(histograms),
            launches: values,
        }
    }
}

impl Figure {
    pub(crate) fn new(name: impl Into<String>, unit: &str, value: f64) -> Figure {
        let (name, unit) = (name.into(), unit.to_owned());
        Figure { name, unit, kit: Measured::new(value), ..Figure::default() }
    }

    pub(crate) fn against(mut self, peer: &str, value: f64) -> Figure {
        self.ratio = Some(self.kit.value / value);
        self.peer = Some(Peer { name: peer.to_owned(), of: Measured::new(value) });
        self
    }

    /// Creates a figure from rounds in turns with a peer. Its ratio is the median over pairs of
    /// consecutive rounds, so changes of the machine's speed do not affect it.
    pub(crate) fn in_turns(
        name: impl Into<String>,
        unit: &str,
        peer: &str,
        rounds: &[Vec<f64>],
    ) -> Option<Figure> {
        let [own, peers] = rounds else { return None };
        let ratios: Vec<f64> = own.iter().zip(peers).map(|(own, peer)| own / peer).collect();
        let figure = Figure::new(name, unit, median(own)?).against(peer, median(peers)?);
        Some(Figure { ratio: median(&ratios), ..figure })
    }

    pub(crate) fn histograms(
        mut self,
        own: Option<Distribution>,
        peers: Option<Distribution>,
    ) -> Figure {
        self.kit.histogram = own;
        if let Some(peer) = &mut self.peer {
            peer.of.histogram = peers;
        }
        self
    }

    pub(crate) fn note(self, note: impl Into<String>) -> Figure {
        Figure { note: Some(note.into()), ..self }
    }
}

/// Merges the figures of several launches by name, in their first order: all launches, and also
/// near and far cores separately.
pub(crate) fn merge(launches: Vec<Vec<Figure>>) -> Vec<Figure> {
    let mut groups: Vec<Vec<Figure>> = Vec::new();
    let figures = launches.into_iter().flatten();
    let figures = figures.flat_map(|figure| {
        let apart = figure.cores.is_some().then(|| figure.clone());
        [Some(Figure { cores: None, ..figure }), apart]
    });
    for figure in figures.flatten() {
        let same = |group: &&mut Vec<Figure>| {
            (&group[0].name, group[0].cores) == (&figure.name, figure.cores)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(figure),
            None => groups.push(vec![figure]),
        }
    }
    groups.into_iter().map(merged).collect()
}

fn merged(group: Vec<Figure>) -> Figure {
    let kit: Vec<&Measured> = group.iter().map(|figure| &figure.kit).collect();
    let peers = group.iter().filter_map(|figure| Some(&figure.peer.as_ref()?.of));
    let ratios: Vec<f64> = group.iter().filter_map(|figure| figure.ratio).collect();
    let of = Measured::merged(&peers.collect::<Vec<_>>());
    Figure {
        kit: Measured::merged(&kit),
        peer: group[0].peer.clone().map(|peer| Peer { of, ..peer }),
        ratio: median(&ratios),
        ..group[0].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_are_merged_by_name_into_medians() {
        let launch = |own: f64, raw: f64| {
            vec![Figure::new("a", "ns", own).against("raw UCX", raw), Figure::new("b", "/s", own)]
        };
        let figures = merge(vec![launch(10.0, 1.0), launch(30.0, 15.0), launch(20.0, 10.0)]);
        assert_eq!(figures.len(), 2);
        let kit = &figures[0].kit;
        assert_eq!((kit.value, &kit.launches[..]), (20.0, &[10.0, 30.0, 20.0][..]));
        // The median of the ratios, not the ratio of the medians.
        assert_eq!(figures[0].ratio, Some(2.0));
        assert_eq!(figures[0].peer.as_ref().map(|peer| peer.of.value), Some(10.0));
        assert_eq!((figures[1].ratio, &figures[1].peer), (None, &None));
    }

    #[test]
    fn a_machine_that_changes_its_speed_does_not_affect_the_ratio() {
        let rounds = [vec![1.0, 2.0, 4.0, 9.0], vec![2.0, 4.0, 8.0, 16.0]];
        let figure = Figure::in_turns("a", "ns", "C", &rounds).unwrap();
        assert_eq!((figure.kit.value, figure.peer.map(|peer| peer.of.value)), (3.0, Some(6.0)));
        assert_eq!(figure.ratio, Some(0.5));
        assert_eq!(Figure::in_turns("a", "ns", "C", &[vec![], vec![]]), None);
    }

    #[test]
    fn another_program_may_print_the_value_alone() {
        let figure: Figure =
            serde_json::from_str(r#"{"name":"codec/x","unit":"instructions","value":3}"#).unwrap();
        assert_eq!((figure.kit.value, figure.kit.launches.len()), (3.0, 0));
        let text = serde_json::to_string(&figure).unwrap();
        assert_eq!(serde_json::from_str::<Figure>(&text).unwrap(), figure);
    }
}
